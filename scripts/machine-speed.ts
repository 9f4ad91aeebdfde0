/**
 * `measureSlowness` compares this machine with the one for which the time budgets of CI are set, which has two cores.
 * Shared machines differ by a factor of two or more, also from one hour to the next. A second thread does the same work
 * meanwhile, because CI uses both cores, and on many machines these are two threads of one.
 */
import { once } from "node:events";
import { isMainThread, Worker } from "node:worker_threads";

/** How long `work` takes on the reference machine. */
const REFERENCE_MS = 250;
const TRIES = 25;

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
export async function measureSlowness(): Promise<number> {
  const other = new Worker(import.meta.filename);
  await once(other, "online");
  const durations = Array.from({ length: TRIES }, () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  }).toSorted((a, b) => a - b);
  await other.terminate();
  return Math.max(1, (durations[Math.floor(TRIES / 2)] ?? 0) / REFERENCE_MS);
}

if (!isMainThread) while (true) work();
