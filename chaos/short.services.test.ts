/** The short form of every scenario, for CI: at least ten faults each. The full runs are commands of their own. */
import { expect, test } from "vitest";
import { isMet, seeded } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

const TIMES = 10;

test.for(Object.keys(SCENARIOS))("%s", { timeout: 60_000 }, async (name) => {
  const figures = await SCENARIOS[name]?.run({ times: TIMES, random: seeded(1), progress: () => undefined });
  expect(figures?.length).toBeGreaterThan(0);
  expect(figures?.filter((figure) => !isMet(figure))).toEqual([]);
});
