/** Tests the short form of scenarios, for CI: `testShort` takes every second one, so that two processes share them. */
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { expect, test } from "vitest";
import { type Figure, isMet } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

const TIMES = 10;
/** A fault of ours is there every time; a machine that stood still in the wrong moment isn't. */
const TRIES = 3;

/** A time that was measured, or how often a moment was met: both depend on what else the machine does. */
function isByChance({ unit, exactly, atMost }: Figure): boolean {
  return exactly === undefined && (unit === "ms" || atMost === undefined);
}

/** @param from 0 for the first, third, fifth … scenario, 1 for the others */
export function testShort(from: 0 | 1): void {
  const scenarios = Object.entries(SCENARIOS).filter((_, n) => n % 2 === from);
  test.for(scenarios)("%s", { timeout: TRIES * 150_000 }, async ([, scenario]) => {
    const times = scenario.short ?? TIMES;
    let unmet: Figure[] = [];
    for (let n = 1; n <= TRIES; n++) {
      const figures = await scenario.run({ times, random: seededRandom(n), progress: () => undefined });
      expect(figures.length).toBeGreaterThan(0);
      unmet = figures.filter((figure) => !isMet(figure));
      if (unmet.length === 0 || !unmet.every(isByChance)) break;
    }
    expect(unmet).toEqual([]);
  });
}
