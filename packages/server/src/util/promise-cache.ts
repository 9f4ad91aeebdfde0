/**
 * Pages of replays and beginnings that were made for one viewer and serve others too: after a cut, many come back at once
 * with the same cursor. Bounded in number; the oldest go first. Where nothing is kept there is no list either: every session
 * that somebody looks at has several of these, and most are empty.
 */

const MOST = 32;

interface CacheEntry<T> {
  readonly value: Promise<T>;
  readonly at: number;
}

export class PromiseCache<T> {
  #pages: Map<string, CacheEntry<T>> | null = null;
  readonly #maxAgeMs: number;

  /** @param maxAgeMs what is older is made anew: more may have come since */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  get size(): number {
    return this.#pages?.size ?? 0;
  }

  /** What was made under the key a moment ago, or is being made; otherwise made now. */
  get(key: string, now: number, make: () => Promise<T>): Promise<T> {
    const pages = (this.#pages ??= new Map());
    const entry = pages.get(key);
    if (entry !== undefined && now - entry.at < this.#maxAgeMs) return entry.value;
    const value = make();
    pages.delete(key);
    pages.set(key, { value, at: now });
    // What failed is tried again by the next.
    value.catch(() => pages.delete(key));
    const [oldest] = pages.keys();
    if (pages.size > MOST && oldest !== undefined) pages.delete(oldest);
    return value;
  }

  /** Drops what is too old. */
  expire(now: number): void {
    if (this.#pages === null) return;
    for (const [key, { at }] of this.#pages) if (now - at >= this.#maxAgeMs) this.#pages.delete(key);
    if (this.#pages.size === 0) this.#pages = null;
  }

  clear(): void {
    this.#pages = null;
  }
}
