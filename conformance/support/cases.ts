/**
 * `assertCases` runs a property with a fixed and with a fresh seed, and `CaseCounts` limits the number of cases. The
 * fixed seed reproduces a regression in the same case every time. The fresh seed tries new cases. It is the same for
 * all properties of a run.
 *
 * `TURNSTREAM_SEED` sets the fresh seed, to reproduce a run. `TURNSTREAM_FULL=1` uses the full counts.
 * `TURNSTREAM_CASES=50` makes every property try 50 cases.
 */
import fc from "fast-check";

/** How many cases a property tries: from each seed on every push, and from both together in a full run. */
export interface CaseCounts {
  readonly fixed: number;
  readonly fresh: number;
  readonly full: number;
}

export interface Batch {
  readonly seed: number;
  readonly runs: number;
}

const FIXED_SEED = 20_261_115;
/** vitest.config.ts chooses and prints the seed. A process that vitest did not start uses the fixed seed. */
export const FRESH_SEED = Number(process.env["TURNSTREAM_SEED"] ?? FIXED_SEED);

export const isFull = process.env["TURNSTREAM_FULL"] === "1";
const asked = process.env["TURNSTREAM_CASES"];

/** The seeds to try, and how many cases from each. */
export function batchesOf(counts: CaseCounts): Batch[] {
  const { fixed, fresh, full } = counts;
  const total = asked === undefined ? (isFull ? full : fixed + fresh) : Number(asked);
  const fromFixed = Math.min(fixed, Math.ceil(total / 2));
  const batches = [
    { seed: FIXED_SEED, runs: fromFixed },
    { seed: FRESH_SEED, runs: total - fromFixed },
  ];
  return batches.filter(({ runs }) => runs > 0);
}

export function totalCases(counts: CaseCounts): number {
  return batchesOf(counts).reduce((total, { runs }) => total + runs, 0);
}

/** Runs a property from both seeds. On a failure, fast-check prints the seed and shrinks the case. */
export async function assertCases<T>(
  property: fc.IRawProperty<T>,
  counts: CaseCounts,
  parameters: Omit<fc.Parameters<T>, "seed" | "numRuns"> = {},
): Promise<void> {
  for (const { seed, runs } of batchesOf(counts)) {
    await fc.assert(property, { ...parameters, seed, numRuns: runs });
  }
}

/**
 * Returns how often something must have been seen at least. In a full run that is larger than a run on a push, it is
 * `share` of the cases. Otherwise it is four standard deviations lower, because a fresh seed must not fail by chance. If
 * ten are expected, at least one must have been seen.
 * @param share the expected share per case
 */
export function leastSeen(share: number, counts: CaseCounts): number {
  const total = totalCases(counts);
  const mean = share * total;
  if (total > counts.fixed + counts.fresh) return mean;
  const floor = mean - 4 * Math.sqrt(mean);
  return mean >= 10 ? Math.max(floor, 0) : floor;
}
