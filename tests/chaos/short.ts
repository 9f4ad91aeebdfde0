/** `testShort` runs the short form of every second scenario, so that two test processes share them. */
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { expect, test } from "vitest";
import { type Figure, isMet } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

const TIMES = 10;

/** How much longer than in a full run something may take, because other tests run at the same time. */
const SLOWNESS = 5;

/**
 * A short run judges promises at the first attempt. How often a rare moment was hit depends on the load of the machine,
 * so only the full run judges that. An event that is expected in every round must happen at least once.
 */
function judge(figure: Figure, times: number): Figure {
  const { unit, atMost, atLeast } = figure;
  return {
    ...figure,
    ...(unit === "ms" && atMost !== undefined ? { atMost: atMost * SLOWNESS } : {}),
    ...(atLeast === undefined ? {} : { atLeast: atLeast >= times ? 1 : 0 }),
  };
}

/** @param from 0 for the first, third, fifth … scenario, 1 for the others */
export function testShort(from: 0 | 1): void {
  const scenarios = Object.entries(SCENARIOS).filter((_, n) => n % 2 === from);
  test.for(scenarios)("%s", async ([, scenario]) => {
    const times = scenario.short ?? TIMES;
    const lines: string[] = [];
    const progress = (line: string) => lines.push(line);
    const figures = await scenario.run({ times, isShort: true, random: seededRandom(1), progress });
    expect(figures.length).toBeGreaterThan(0);
    const missed = figures.map((figure) => judge(figure, times)).filter((figure) => !isMet(figure));
    expect(missed, lines.slice(-20).join("\n")).toEqual([]);
  });
}
