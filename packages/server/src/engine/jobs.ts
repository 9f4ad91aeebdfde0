/**
 * The jobs that run in this process, whichever engine remembers them: who runs, how to abort them, and whether what
 * they come to counts. Never remembers a job that has ended, and never writes anything down.
 */
import type { ErrorHandler } from "../util/error-handler.ts";
import type { JobHandler } from "./engine.ts";
import { EngineError } from "./errors.ts";

export interface JobsOptions {
  readonly work: JobHandler;
  /**
   * Asked before a job begins here and when it comes back: false when the lease of this process may have run out. Then
   * nothing begins, and nothing that ends counts. See createExecutor.
   */
  readonly isFresh?: () => boolean;
  /** Called with what a job threw. */
  readonly onError?: ErrorHandler;
}

/** "left": it isn't over, and isn't this process's any more. */
export type Outcome = "ended" | "failed" | "left";

interface Run {
  readonly id: string;
  readonly controller: AbortController;
}

export class Jobs {
  readonly #options: JobsOptions;
  readonly #runs = new Set<Run>();
  /** Runs, and what may yet become one. */
  readonly #pending = new Set<Promise<unknown>>();
  #left = false;
  #onBack: ((id: string) => void) | undefined;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#runs.size;
  }

  /** Whether this process may begin anything. */
  get open(): boolean {
    return !this.#left && (this.#options.isFresh?.() ?? true);
  }

  /** Does what may lead to a run; `handOver` waits for it. Throws LEFT when nothing may begin here. */
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
    // A job that begins and ends within `start` would be over before its caller knows of it.
    await Promise.resolve();
    const counts = () => !signal.aborted && this.open;
    try {
      await this.#options.work({ id, attempt, signal });
      return counts() ? "ended" : "left";
    } catch (error) {
      if (!counts()) return "left";
      this.#options.onError?.(error, { during: `job ${id}` });
      return "failed";
    }
  }

  /** Aborts those whose id begins with this. */
  abort(prefix: string): void {
    for (const run of this.#runs) {
      if (run.id.startsWith(prefix)) run.controller.abort(new EngineError("LEFT", `job ${run.id}`));
    }
  }

  /** Aborts all, lets nothing begin any more, and waits until everything has come back. */
  async handOver(onBack?: (id: string) => void): Promise<void> {
    this.#left = true;
    this.#onBack ??= onBack;
    this.abort("");
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
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
