/**
 * `PromiseCache` shares a result between callers with the same key for a short time. After an outage many clients
 * reconnect at once with the same cursor.
 * Invariant: a failure is not cached. At most 32 entries exist; the oldest are dropped first. All callers get the same
 * object, so it must not be changed. An empty cache allocates no map, because every session with a subscriber has
 * several caches and most are empty.
 */

const MAX_ENTRIES = 32;

interface CacheEntry<T> {
  readonly value: Promise<T>;
  readonly at: number;
}

export class PromiseCache<T> {
  #entries: Map<string, CacheEntry<T>> | null = null;
  readonly #maxAgeMs: number;

  /** @param maxAgeMs older entries are created again */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  /** Returns the cached promise for the key, also while it is pending. Creates it if it is missing or too old. */
  get(key: string, now: number, create: () => Promise<T>): Promise<T> {
    const entries = (this.#entries ??= new Map());
    const entry = entries.get(key);
    if (entry !== undefined && now - entry.at < this.#maxAgeMs) return entry.value;
    const value = create();
    entries.delete(key);
    entries.set(key, { value, at: now });
    // A failure is not cached: the next call retries.
    value.catch(() => entries.delete(key));
    const [oldest] = entries.keys();
    if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
    return value;
  }

  /** Drops expired entries. */
  expire(now: number): void {
    if (this.#entries === null) return;
    for (const [key, { at }] of this.#entries) if (now - at >= this.#maxAgeMs) this.#entries.delete(key);
    if (this.#entries.size === 0) this.#entries = null;
  }

  clear(): void {
    this.#entries = null;
  }
}
