/**
 * `MachineSpeed` compares this machine with the one for which the time budgets of CI are set, which has two cores.
 * Shared machines differ by a factor of two or more, also from one minute to the next. So it measures as long as its
 * process runs, while others use both cores.
 * Invariant: it counts CPU time, so waiting for other processes of the run makes no machine slow. A measurement every
 * 20 s uses about 1 % of one core.
 */

/** How long `work` takes on the reference machine. */
const REFERENCE_MS = 250;
const SAMPLES_AT_START = 8;

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

function measureWork(): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

export class MachineSpeed {
  readonly #samples: number[] = [];

  constructor(everyMs: number) {
    // The first one also compiles the code.
    work();
    for (let n = 0; n < SAMPLES_AT_START; n++) this.#samples.push(measureWork());
    setInterval(() => void this.#samples.push(measureWork()), everyMs).unref();
  }

  /** How many times slower this machine was until now, on average; 1 for a machine that is as fast or faster. */
  get slowness(): number {
    const mean = this.#samples.reduce((sum, ms) => sum + ms, 0) / this.#samples.length;
    return Math.max(1, mean / REFERENCE_MS);
  }
}
