/**
 * `DrainGate` lets the running steps and tools of an attempt end when its worker shuts down, and starts no new ones.
 *
 * Invariant: after `drain`, no work starts. `onIdle` is called once, when no work runs and a branch waits to start some
 * or waits for a user. So a turn without further work ends normally, and is not handed over.
 */
import { untilAborted } from "../../util/concurrency.ts";

export class DrainGate {
  readonly #onIdle: () => void;
  #running = 0;
  #waiting = 0;
  #isDraining = false;
  #isIdle = false;

  constructor(onIdle: () => void) {
    this.#onIdle = onIdle;
  }

  drain(): void {
    this.#isDraining = true;
    this.#check();
  }

  /**
   * Runs a step or tool, from its start until it is journaled. While the attempt drains, it waits for the abort instead.
   * @throws the signal's reason
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#isDraining) await this.wait(() => untilAborted(signal));
    this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
      this.#check();
    }
  }

  /** Marks a branch that only waits, for a user or a time. Such a branch doesn't delay the shutdown. */
  async wait<T>(wait: () => Promise<T>): Promise<T> {
    this.#waiting++;
    this.#check();
    try {
      return await wait();
    } finally {
      this.#waiting--;
    }
  }

  /** Like `wait`, for a branch that `run` counts as running. */
  async waitInside<T>(wait: () => Promise<T>): Promise<T> {
    this.#running--;
    try {
      return await this.wait(wait);
    } finally {
      this.#running++;
    }
  }

  #check(): void {
    if (!this.#isDraining || this.#isIdle || this.#running > 0 || this.#waiting === 0) return;
    this.#isIdle = true;
    this.#onIdle();
  }
}
