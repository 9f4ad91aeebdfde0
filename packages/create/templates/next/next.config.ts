/** Keeps `@turnstream/server` out of the bundles of Next.js. */
import { withTurnstream } from "@turnstream/next/config";

export default withTurnstream({});
