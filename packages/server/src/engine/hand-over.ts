/**
 * Gives the jobs of an executor that leaves to others one by one, as their work comes back: they go to a name of their own,
 * whose lease is given up at once. The executor's own lease stays for what still runs. What can't be given stays with it,
 * and goes with that lease. Never aborts a job.
 */
import type { Signals } from "../signals/signals.ts";
import type { Leases } from "../store/ports/running.ts";
import type { Engine } from "./engine.ts";

/** Where executors hear that there is something to recover. */
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

  /** Fulfilled when everything that was added is given, or can't be. */
  done(): Promise<void> {
    return this.#given;
  }

  async #giveAll(): Promise<void> {
    // Most come back in the same moment, and go together.
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
    // Used once: nobody who recovers it can believe that it is done before these are there.
    const name = `${engine.executor}.${++this.#count}`;
    // A lease first: should this process die in between, it runs out, and they are found all the same.
    await leases.take(name, ttlMs);
    await engine.reassign(ids, name);
    await leases.leave(name);
    signals.send(EXECUTORS, name);
  }
}
