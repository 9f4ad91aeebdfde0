/**
 * Pages of replays and beginnings that were made for one viewer and serve others too: after a cut, many come back at once
 * with the same cursor. Bounded in number; the oldest go first.
 */

const MOST = 32;

interface Kept<T> {
  readonly value: Promise<T>;
  readonly at: number;
}

export class KeptPages<T> {
  readonly #pages = new Map<string, Kept<T>>();
  readonly #maxAgeMs: number;

  /** @param maxAgeMs what is older is made anew: more may have come since */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  get size(): number {
    return this.#pages.size;
  }

  /** What was made under the key a moment ago, or is being made; otherwise made now. */
  get(key: string, now: number, make: () => Promise<T>): Promise<T> {
    const kept = this.#pages.get(key);
    if (kept !== undefined && now - kept.at < this.#maxAgeMs) return kept.value;
    const value = make();
    this.#pages.delete(key);
    this.#pages.set(key, { value, at: now });
    // What failed is tried again by the next.
    value.catch(() => this.#pages.delete(key));
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > MOST && oldest !== undefined) this.#pages.delete(oldest);
    return value;
  }

  /** Drops what is too old. */
  expire(now: number): void {
    for (const [key, { at }] of this.#pages) if (now - at >= this.#maxAgeMs) this.#pages.delete(key);
  }

  clear(): void {
    this.#pages.clear();
  }
}
