/** `Gate` lets callers wait until it is open. */

export class Gate {
  #resolve: (() => void) | null = null;
  #promise: Promise<void> = Promise.resolve();

  constructor() {
    this.close();
  }

  /** Resolves while it is open. */
  wait(): Promise<void> {
    return this.#promise;
  }

  open(): void {
    this.#resolve?.();
    this.#resolve = null;
  }

  close(): void {
    if (this.#resolve !== null) return;
    this.#promise = new Promise((resolve) => (this.#resolve = resolve));
  }
}
