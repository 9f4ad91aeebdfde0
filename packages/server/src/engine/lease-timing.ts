/** When an executor is alive, and when it looks after the others: pure. Never reads a clock and never asks a store. */

/**
 * A lease counts from when the store got the request, which is after it was sent: so whoever counts from the sending is
 * never longer alive in its own eyes than in those of the others.
 * @param renewedAt when the last renewal that succeeded was sent, by a clock that never jumps
 */
export function leaseIsFresh(renewedAt: number, now: number, ttlMs: number): boolean {
  return now - renewedAt < ttlMs;
}

/** Two may fail before the lease runs out. */
export function renewIntervalMs(ttlMs: number): number {
  return Math.max(1, Math.floor(ttlMs / 3));
}

/** Spread, so that executors that began together don't all ask together. @param random from 0 up to 1 */
export function watchIntervalMs(ttlMs: number, random: number): number {
  return Math.max(1, Math.round((ttlMs / 3) * (0.75 + random / 2)));
}
