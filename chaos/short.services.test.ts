/** The short form of every scenario, for CI. The full runs are commands of their own. */
import { expect, test } from "vitest";
import { isMet, seeded } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

const TIMES = 10;

test.for(Object.entries(SCENARIOS))("%s", { timeout: 150_000 }, async ([, scenario]) => {
  const times = scenario.short ?? TIMES;
  const figures = await scenario.run({ times, random: seeded(1), progress: () => undefined });
  expect(figures.length).toBeGreaterThan(0);
  expect(figures.filter((figure) => !isMet(figure))).toEqual([]);
});
