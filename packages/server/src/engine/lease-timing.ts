/**
 * `leaseIsFresh`, `renewIntervalMs` and `watchIntervalMs` define when an executor's lease is valid and how often it
 * acts. Pure: they use neither clock nor store.
 * Invariant: an executor never considers its lease valid longer than the store does, because it counts from when the
 * renewal was sent. Renewals are frequent enough that two can fail. Watch intervals have jitter.
 */

/**
 * Counts the lease from the time when the renewal was sent. The store counts from when it received the request, which
 * is later. So an executor never considers itself alive longer than others do.
 * @param renewedAt when the last successful renewal was sent, by a monotonic clock
 */
export function leaseIsFresh(renewedAt: number, now: number, ttlMs: number): boolean {
  return now - renewedAt < ttlMs;
}

/** How often dead executors are looked for. The store notices most of them before their lease expires. */
const WATCH_MS = 1_000;

/** Two renewals can fail before the lease expires. */
export function renewIntervalMs(ttlMs: number): number {
  return Math.max(1, Math.floor(ttlMs / 3));
}

/**
 * Adds jitter, so that executors that started together don't all query together.
 * @param random from 0 up to 1
 */
export function watchIntervalMs(ttlMs: number, random: number): number {
  return Math.max(1, Math.round(Math.min(ttlMs / 3, WATCH_MS) * (0.75 + random / 2)));
}
