/** `seededRandom` generates the same numbers for the same seed, so that a run can be repeated. */

/** Returns a number in [0, 1). */
export type Random = () => number;

/** @returns a mulberry32 generator */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Reads the seed of this run from `TURNSTREAM_SEED`, or generates one. The caller prints it. */
export function readSeed(): number {
  return Number(process.env["TURNSTREAM_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
}

/** Picks different integers from 1 to `last`, in ascending order; all of them if there are no more than `count`. */
export function pickNumbers(random: Random, last: number, count: number): number[] {
  const all = Array.from({ length: last }, (_, n) => n + 1);
  const picked: number[] = [];
  while (picked.length < count && all.length > 0)
    picked.push(...all.splice(Math.floor(random() * all.length), 1));
  return picked.toSorted((a, b) => a - b);
}
