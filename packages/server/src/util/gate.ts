/**
 * `Gate` lets callers wait until it is open. It starts closed, and can be opened and closed repeatedly.
 * Invariant: `open` resolves all waiting callers, and `wait` never rejects. The gate can be closed again before a
 * resolved caller continues, so callers check their own state.
 */

export class Gate {
  #resolve: (() => void) | null = null;
  #promise: Promise<void> = Promise.resolve();

  constructor() {
    this.close();
  }

  /** Resolves when the gate opens, or immediately if it is open. */
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
