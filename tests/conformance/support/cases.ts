/**
 * `assertCases` runs a property. On a push, the seed and the number of cases are always the same. At night the seed is
 * new, and the properties try their full number.
 *
 * `TURNSTREAM_FULL=1` uses the full numbers, `TURNSTREAM_SEED` sets the seed, to reproduce a run, and
 * `TURNSTREAM_CASES=50` makes every property try 50 cases.
 */
import fc from "fast-check";

/** How many cases a property tries on a push, and at night. */
export interface CaseCounts {
  readonly push: number;
  readonly full: number;
}

/** The same on each push. scripts/nightly.ts chooses and prints another one. */
export const SEED = Number(process.env["TURNSTREAM_SEED"] ?? 20_261_115);

export const isFull = process.env["TURNSTREAM_FULL"] === "1";
const asked = process.env["TURNSTREAM_CASES"];

export function totalCases({ push, full }: CaseCounts): number {
  if (asked !== undefined) return Number(asked);
  return isFull ? full : push;
}

/** On a failure, fast-check prints the seed and shrinks the case. */
export async function assertCases<T>(
  property: fc.IRawProperty<T>,
  counts: CaseCounts,
  parameters: Omit<fc.Parameters<T>, "seed" | "numRuns"> = {},
): Promise<void> {
  await fc.assert(property, { ...parameters, seed: SEED, numRuns: totalCases(counts) });
}

/**
 * Returns how often something must have been seen at least: its expected number, four standard deviations lower,
 * because a new seed must not fail by chance.
 * @param share the expected share per case
 */
export function leastSeen(share: number, counts: CaseCounts): number {
  const mean = share * totalCases(counts);
  return Math.max(0, mean - 4 * Math.sqrt(mean));
}
