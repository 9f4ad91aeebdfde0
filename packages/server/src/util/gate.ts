/** A door that many wait at: open, or shut until it opens. */

export class Gate {
  #open: (() => void) | null = null;
  #promise: Promise<void> = Promise.resolve();

  constructor() {
    this.shut();
  }

  /** Resolves while it is open. */
  passed(): Promise<void> {
    return this.#promise;
  }

  open(): void {
    this.#open?.();
    this.#open = null;
  }

  shut(): void {
    if (this.#open !== null) return;
    this.#promise = new Promise((resolve) => (this.#open = resolve));
  }
}
