/** Runs the bench of Redis' memory in its short form. Whether memory grows is the same on every machine. */
import { expect, test } from "vitest";
import { isOk } from "./measure.ts";
import { benchRedisGrowth, SHORT } from "./redis-growth.ts";

test("no key of a session stays in Redis after its turns", { timeout: 300_000 }, async () => {
  const measurements = await benchRedisGrowth(SHORT);
  expect(measurements.length).toBeGreaterThan(10);
  // The first parts also fill tables of Redis itself, which is much compared with so few turns.
  const missed = measurements.filter((each) => !isOk(each) && !each.measure.includes("memory"));
  expect(missed).toEqual([]);
});
