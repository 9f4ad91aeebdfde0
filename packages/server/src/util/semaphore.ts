/**
 * `Semaphore` limits how many tasks run concurrently.
 * Invariant: tasks start in the order of their calls, and every permit is returned, also after an error or abort. An
 * aborted caller leaves the queue. `releaseWhile` is called only inside `run`. Only an aborted caller may exceed the
 * limit, and the excess is settled before another task starts.
 */
export class Semaphore {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  /** Waits for a permit, then runs `work`. Throws the signal's reason if it is aborted while waiting. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Returns the permit while `wait` is pending, so that another task can run, and takes one again afterwards. */
  async releaseWhile<T>(signal: AbortSignal, wait: () => Promise<T>): Promise<T> {
    this.#leave();
    try {
      return await wait();
    } finally {
      // The enclosing `run` returns a permit in any case, so an aborted caller takes one without waiting for it.
      if (signal.aborted) this.#free--;
      else await this.#enter(signal).catch(() => this.#free--);
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#queue.splice(this.#queue.indexOf(enter), 1);
        reject(signal.reason as Error);
      };
      this.#queue.push(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #leave(): void {
    const next = this.#free < 0 ? undefined : this.#queue.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
