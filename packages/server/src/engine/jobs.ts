/**
 * `Jobs` tracks the jobs that run in this process, for every engine: it runs and aborts them, and decides whether
 * their outcome counts. Does not persist anything.
 * Invariant: an outcome counts only if the job was not aborted and the lease is fresh when the handler returns. After
 * `handOver` no job starts, and it resolves only when all handlers and admitted operations have returned. While jobs
 * drain, one that returns has ended, and one that throws is handed over.
 */
import type { ErrorHandler } from "../util/error-handler.ts";
import type { JobHandler } from "./engine.ts";
import { sleep } from "../util/sleep.ts";
import { EngineError } from "./errors.ts";

export interface JobsOptions {
  readonly work: JobHandler;
  /**
   * Checked before a job starts and when it returns. If it returns false, the lease may have expired: no job starts,
   * and no outcome counts. See `createExecutor`.
   */
  readonly isFresh?: () => boolean;
  /** Called with the error that a job threw. */
  readonly onError?: ErrorHandler;
}

/** "left": the job has not ended and no longer belongs to this process. */
export type Outcome = "ended" | "failed" | "left";

interface Run {
  readonly id: string;
  readonly controller: AbortController;
}

export class Jobs {
  readonly #options: JobsOptions;
  readonly #runs = new Set<Run>();
  /** Running jobs, and operations that may start one. */
  readonly #pending = new Set<Promise<unknown>>();
  #left = false;
  #onBack: ((id: string) => void) | undefined;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#runs.size;
  }

  /** True if this process may start jobs. */
  get open(): boolean {
    return !this.#left && this.#isFresh;
  }

  get #isFresh(): boolean {
    return this.#options.isFresh?.() ?? true;
  }

  /**
   * Runs an operation that may start a job; `handOver` waits for it.
   * @throws EngineError with code `LEFT` if no job may start here
   */
  async admit<T>(what: string, action: () => Promise<T>): Promise<T> {
    if (!this.open) throw new EngineError("LEFT", what);
    return await this.#track(action());
  }

  async run(id: string, attempt: number): Promise<Outcome> {
    const outcome = await this.#run(id, attempt);
    if (outcome === "left") this.#onBack?.(id);
    return outcome;
  }

  async #run(id: string, attempt: number): Promise<Outcome> {
    if (!this.open) return "left";
    const run: Run = { id, controller: new AbortController() };
    this.#runs.add(run);
    try {
      return await this.#track(this.#outcome(run, attempt));
    } finally {
      this.#runs.delete(run);
    }
  }

  async #outcome({ id, controller: { signal } }: Run, attempt: number): Promise<Outcome> {
    // Otherwise a job without asynchronous work would end before `start` returns to its caller.
    await Promise.resolve();
    const counts = () => !signal.aborted && this.#isFresh;
    try {
      await this.#options.work({ id, attempt, signal });
      return counts() ? "ended" : "left";
    } catch (error) {
      if (!counts() || this.#left) return "left";
      this.#options.onError?.(error, { during: `job ${id}` });
      return "failed";
    }
  }

  /** Aborts the jobs whose id starts with `prefix`. */
  abort(prefix: string): void {
    for (const run of this.#runs) {
      if (run.id.startsWith(prefix)) run.controller.abort(new EngineError("LEFT", `job ${run.id}`));
    }
  }

  /** Starts no more jobs, aborts those that run after `drainMs`, and waits until all handlers have returned. */
  async handOver(onBack?: (id: string) => void, drainMs = 0): Promise<void> {
    this.#left = true;
    this.#onBack ??= onBack;
    if (drainMs > 0) await this.#drain(drainMs);
    this.abort("");
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }

  async #drain(drainMs: number): Promise<void> {
    const done = new AbortController();
    const settled = Promise.allSettled(this.#pending);
    await Promise.race([settled, sleep(drainMs, { signal: done.signal }).catch(() => {})]);
    done.abort();
  }

  async #track<T>(promise: Promise<T>): Promise<T> {
    this.#pending.add(promise);
    try {
      return await promise;
    } finally {
      this.#pending.delete(promise);
    }
  }
}
