/**
 * Those who were dropped from a connection's queue, in the order in which they come back: one at a time, for all of them
 * at once would fill it again. Never calls anybody itself.
 */
export class ReturnLine<T> {
  readonly #waiting = new Set<T>();
  #called: T | null = null;

  get isEmpty(): boolean {
    return this.#waiting.size === 0 && this.#called === null;
  }

  waits(one: T): boolean {
    return this.#waiting.has(one);
  }

  add(one: T): void {
    this.#waiting.add(one);
    if (this.#called === one) this.#called = null;
  }

  /** Whose turn it is now; null while it is another's, and when nobody waits. */
  next(): T | null {
    if (this.#called !== null) return null;
    const [first] = this.#waiting;
    if (first === undefined) return null;
    this.#waiting.delete(first);
    this.#called = first;
    return first;
  }

  /** @returns whether it was its turn */
  leave(one: T): boolean {
    this.#waiting.delete(one);
    if (this.#called !== one) return false;
    this.#called = null;
    return true;
  }
}
