/**
 * `Gate` lets callers wait until it is open. It starts closed, and can be opened and closed repeatedly.
 * Invariant: `open` resolves all waiting callers, and `wait` never rejects. The gate can be closed again before a
 * resolved caller continues, so callers check their own state.
 */

export class Gate {
  #opening = Promise.withResolvers<void>();
  #isOpen = false;

  /** Resolves when the gate opens, or immediately if it is open. */
  wait(): Promise<void> {
    return this.#opening.promise;
  }

  open(): void {
    this.#isOpen = true;
    this.#opening.resolve();
  }

  close(): void {
    if (this.#isOpen) this.#opening = Promise.withResolvers();
    this.#isOpen = false;
  }
}
