/**
 * `HandOver` passes the jobs of a leaving executor to others, as soon as their handlers return. It assigns each batch
 * to a temporary executor name and releases that name's lease immediately. Does not abort jobs.
 * Invariant: the order is take the lease, reassign, release, signal; a crash in between loses no job. Each name is
 * used once. The executor's own lease covers the jobs that still run. Jobs that can't be reassigned stay with it and
 * are recovered when that lease ends.
 */
import type { Signals } from "../signals/signals.ts";
import type { Leases } from "../store/ports/running.ts";
import type { Engine } from "./engine.ts";

/** Signal channel that announces executors to recover. */
export const EXECUTORS = "executors";

export interface HandOverOptions {
  readonly engine: Pick<Engine, "executor" | "reassign">;
  readonly leases: Leases;
  readonly signals: Signals;
  readonly ttlMs: number;
  readonly onError: (error: unknown) => void;
}

export class HandOver {
  readonly #options: HandOverOptions;
  #waiting: string[] = [];
  #isGiving = false;
  #given: Promise<void> = Promise.resolve();
  #count = 0;

  constructor(options: HandOverOptions) {
    this.#options = options;
  }

  add(id: string): void {
    this.#waiting.push(id);
    if (this.#isGiving) return;
    this.#isGiving = true;
    this.#given = this.#giveAll();
  }

  /** Resolves when every added job is reassigned or has failed to be. */
  done(): Promise<void> {
    return this.#given;
  }

  async #giveAll(): Promise<void> {
    // Most handlers return in the same tick, so reassign their jobs as one batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const ids = this.#waiting;
      this.#waiting = [];
      await this.#give(ids).catch((error: unknown) => this.#options.onError(error));
    }
    this.#isGiving = false;
  }

  async #give(ids: readonly string[]): Promise<void> {
    const { engine, leases, signals, ttlMs } = this.#options;
    // Each name is used once. Otherwise an executor could finish recovering the name before these jobs are assigned to
    // it.
    const name = `${engine.executor}.${++this.#count}`;
    // Take the lease first. If this process dies in between, the lease expires and the jobs are still recovered.
    await leases.take(name, ttlMs);
    await engine.reassign(ids, name);
    await leases.leave(name);
    signals.send(EXECUTORS, name);
  }
}
