/** Randomness that a seed brings back. Never touches the machine's own. */
export type Random = () => number;

/** Numbers in [0, 1), the same ones for the same seed (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Different whole numbers from 1 to `last`, in order; all of them when there are no more. */
export function pickMoments(random: Random, last: number, count: number): number[] {
  const all = Array.from({ length: last }, (_, n) => n + 1);
  const picked: number[] = [];
  while (picked.length < count && all.length > 0)
    picked.push(...all.splice(Math.floor(random() * all.length), 1));
  return picked.toSorted((a, b) => a - b);
}
