/** Every scenario by the name that `npm run chaos -- NAME` takes. */
import type { Scenario } from "./scenario.ts";

export const SCENARIOS: Readonly<Record<string, Scenario>> = {};
