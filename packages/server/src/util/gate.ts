/** A door that many wait at: open, or shut until it opens. */

export class Gate {
  #open: (() => void) | null = null;
  #promise: Promise<void> = Promise.resolve();

  constructor() {
    this.close();
  }

  /** Resolves while it is open. */
  wait(): Promise<void> {
    return this.#promise;
  }

  open(): void {
    this.#open?.();
    this.#open = null;
  }

  close(): void {
    if (this.#open !== null) return;
    this.#promise = new Promise((resolve) => (this.#open = resolve));
  }
}
