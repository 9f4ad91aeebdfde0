/** Bounds how much is done side by side, first come first served. Knows nothing about what is done. */
export class Semaphore {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  /** Waits for its turn; throws the signal's reason when that is aborted meanwhile. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** While it waits for something outside, somebody else may work in its place. */
  async releaseWhile<T>(signal: AbortSignal, wait: () => Promise<T>): Promise<T> {
    this.#leave();
    try {
      return await wait();
    } finally {
      // Whoever stops meanwhile gives back a permit all the same.
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
