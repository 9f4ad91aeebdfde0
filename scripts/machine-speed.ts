/**
 * `measureSlowness` compares this machine with the one for which the time budgets of CI are set, which has two cores.
 * Shared machines differ by a factor of two or more, also from one hour to the next.
 */

/** How long `work` takes on the reference machine. */
const REFERENCE_MS = 250;
const TRIES = 5;

/** A fixed amount of work like that of the tests: objects, JSON and sorting. */
function work(): number {
  let sum = 0;
  for (let round = 0; round < 120; round++) {
    const rows = Array.from({ length: 2_000 }, (_, n) => ({ id: (n * 7_919) % 2_003, text: `row ${n}` }));
    const copy = JSON.parse(JSON.stringify(rows)) as typeof rows;
    sum += copy.toSorted((a, b) => a.id - b.id)[round]?.id ?? 0;
  }
  return sum;
}

/** Returns how many times slower this machine is now; 1 for a machine that is as fast or faster. */
export function measureSlowness(): number {
  const durations = Array.from({ length: TRIES }, () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  }).toSorted((a, b) => a - b);
  return Math.max(1, (durations[Math.floor(TRIES / 2)] ?? 0) / REFERENCE_MS);
}
