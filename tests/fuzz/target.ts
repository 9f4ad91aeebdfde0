/**
 * `Target` is one part of the system that the fuzzer feeds with generated input. `fuzzTarget` runs it for a time and
 * counts what went wrong.
 * Invariant: a case depends only on its seed, so that it can be repeated. A hold is CPU time of a thread, so that a busy
 * machine doesn't cause one. It counts only if the best of three runs of the case is too slow: compilation and garbage
 * collection are not the fault of the input, and don't happen every time.
 */
import { measureSlowness } from "@turnstream/testkit/util/cpu-slowness.ts";
import fc from "fast-check";

/** What one case did. */
export interface CaseResult {
  /** The longest CPU time of the main thread without a turn of its event loop, in milliseconds. */
  readonly usedMs: number;
  /** Set if the target threw, answered with an internal error or died. */
  readonly crash?: string;
  /** Set if hidden text was found, with the text around it. */
  readonly canary?: string;
}

interface OpenTarget {
  /** Runs one case. Must not throw. */
  runCase(seed: number): Promise<CaseResult>;
  close(): Promise<void>;
}

export interface Target {
  readonly name: string;
  readonly about: string;
  open(): Promise<OpenTarget>;
}

export interface FuzzReport {
  readonly target: string;
  readonly cases: number;
  readonly crashes: number;
  readonly holds: number;
  readonly canaries: number;
  readonly slowestMs: number;
  readonly ok: boolean;
  /** The first cases that went wrong. */
  readonly examples: readonly string[];
}

/** A request must not block the process for longer. The factor is that of the machine. */
const MAX_HOLD_MS = 50;
const TRIES = 3;
const MAX_EXAMPLES = 5;
/** The share of the time before the first case that counts, because a cold process compiles its code. */
const WARM_UP_SHARE = 0.2;
const MAX_WARM_UP_CASES = 5;
const PROGRESS_MS = 30_000;
/** A short run on a busy machine tries at least one case of each seed. */
const SEEDS = 2;
const FIXED_SEED = 20_261_117;

/** Runs cases until the time is over: alternately from a fixed seed and from the seed of the run. */
export async function fuzzTarget(target: Target, ms: number, seed: number): Promise<FuzzReport> {
  const open = await target.open();
  const counts = { cases: 0, crashes: 0, holds: 0, canaries: 0, slowestMs: 0 };
  const examples: string[] = [];
  const report = (caseSeed: number, what: string): void => {
    if (examples.length < MAX_EXAMPLES) examples.push(`seed ${caseSeed}: ${what}`.slice(0, 400));
  };
  try {
    const started = performance.now();
    const passed = (): number => performance.now() - started;
    for (let n = 0; n < MAX_WARM_UP_CASES && passed() < ms * WARM_UP_SHARE; n++)
      await open.runCase(FIXED_SEED - 1 - n);
    let reportAt = PROGRESS_MS;
    for (let n = 0; n < SEEDS || passed() < ms; n++) {
      if (passed() > reportAt) {
        reportAt += PROGRESS_MS;
        console.error(`[fuzz] ${target.name}, ${Math.round(passed() / 1_000)} s: ${JSON.stringify(counts)}`);
      }
      const caseSeed = (n % 2 === 0 ? FIXED_SEED : seed) + Math.floor(n / 2);
      const { usedMs, crash, canary } = await leastOf(open, caseSeed);
      counts.cases++;
      counts.slowestMs = Math.max(counts.slowestMs, Math.round(usedMs));
      if (crash !== undefined) {
        counts.crashes++;
        report(caseSeed, crash);
      }
      if (canary !== undefined) {
        counts.canaries++;
        report(caseSeed, `canary: ${canary}`);
      }
      if (usedMs > MAX_HOLD_MS) {
        counts.holds++;
        report(caseSeed, `${Math.round(usedMs)} ms of CPU`);
      }
    }
  } finally {
    await open.close();
  }
  const ok = counts.cases > 0 && counts.crashes + counts.holds + counts.canaries === 0;
  return { target: target.name, ...counts, ok, examples };
}

async function leastOf(open: OpenTarget, seed: number): Promise<CaseResult> {
  const result = await open.runCase(seed);
  let { usedMs } = result;
  for (let n = 1; n < TRIES && usedMs > MAX_HOLD_MS && result.crash === undefined; n++) {
    const again = await open.runCase(seed);
    usedMs = Math.min(usedMs, again.usedMs / measureSlowness());
  }
  return { ...result, usedMs };
}

/** Returns the value of an arbitrary for a seed. */
export function generate<T>(arbitrary: fc.Arbitrary<T>, seed: number): T {
  const [value] = fc.sample(arbitrary, { seed, numRuns: 1 });
  return value as T;
}

/** A target that is one synchronous function of a generated value, in this process. */
export function syncTarget<T>(
  name: string,
  about: string,
  arbitrary: fc.Arbitrary<T>,
  run: (value: T) => void,
): Target {
  return {
    name,
    about,
    open: async () => ({
      runCase: async (seed) => {
        const value = generate(arbitrary, seed);
        const before = process.threadCpuUsage();
        let crash: string | undefined;
        try {
          run(value);
        } catch (error) {
          crash = String(error);
        }
        const { user, system } = process.threadCpuUsage(before);
        return { usedMs: (user + system) / 1_000, ...(crash === undefined ? {} : { crash }) };
      },
      close: async () => {},
    }),
  };
}

/** Returns the longest CPU time of this thread without a turn of its event loop, in milliseconds. */
export async function measureLongest(work: () => Promise<void>): Promise<number> {
  const watch = { isOn: true, longestMs: 0 };
  const watching = (async () => {
    while (watch.isOn) {
      const before = process.threadCpuUsage();
      await new Promise((resolve) => void setImmediate(resolve));
      const { user, system } = process.threadCpuUsage(before);
      watch.longestMs = Math.max(watch.longestMs, (user + system) / 1_000);
    }
  })();
  try {
    await work();
  } finally {
    watch.isOn = false;
    await watching;
  }
  return watch.longestMs;
}
