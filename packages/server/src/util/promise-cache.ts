/**
 * `PromiseCache` shares what was made for one caller with others for a short time: after an outage, many clients reconnect
 * at once with the same cursor. Bounded in number; the oldest are dropped first. An empty cache has no map: every session
 * with a subscriber has several of these, and most are empty.
 */

const MAX_ENTRIES = 32;

interface CacheEntry<T> {
  readonly value: Promise<T>;
  readonly at: number;
}

export class PromiseCache<T> {
  #entries: Map<string, CacheEntry<T>> | null = null;
  readonly #maxAgeMs: number;

  /** @param maxAgeMs what is older is made again */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  /** What was created under the key a moment ago, or is being created; otherwise created now. */
  get(key: string, now: number, create: () => Promise<T>): Promise<T> {
    const entries = (this.#entries ??= new Map());
    const entry = entries.get(key);
    if (entry !== undefined && now - entry.at < this.#maxAgeMs) return entry.value;
    const value = create();
    entries.delete(key);
    entries.set(key, { value, at: now });
    // A failure is retried by the next call.
    value.catch(() => entries.delete(key));
    const [oldest] = entries.keys();
    if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
    return value;
  }

  /** Drops what is too old. */
  expire(now: number): void {
    if (this.#entries === null) return;
    for (const [key, { at }] of this.#entries) if (now - at >= this.#maxAgeMs) this.#entries.delete(key);
    if (this.#entries.size === 0) this.#entries = null;
  }

  clear(): void {
    this.#entries = null;
  }
}
