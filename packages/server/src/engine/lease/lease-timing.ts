/**
 * `leaseIsFresh`, `renewIntervalMs`, `watchIntervalMs` and `mayTakeOver` define when an executor's lease is valid and
 * how often it acts. Pure: they use neither clock nor store.
 * Invariant: an executor never considers its lease valid longer than the store does, because it counts from when the
 * renewal was sent. Renewals are frequent enough that three can fail. Watch intervals have jitter. After an outage of
 * the store, no executor takes over another before all had time to renew.
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

/** Three renewals can fail before the lease expires. */
export function renewIntervalMs(ttlMs: number): number {
  return Math.max(1, Math.floor(ttlMs / 4));
}

/** The successful renewals of an executor, by a monotonic clock. */
export interface Renewals {
  readonly lastAt: number;
  /** When the first renewal after the latest gap succeeded. -Infinity if there was none. */
  readonly steadySince: number;
}

/** Adds a successful renewal. */
export function addRenewal({ lastAt, steadySince }: Renewals, now: number, ttlMs: number): Renewals {
  return { lastAt: now, steadySince: hasGap(lastAt, now, ttlMs) ? now : steadySince };
}

/**
 * Returns true if an expired lease of another executor means that the executor is dead. After a gap in the own
 * renewals, the store may have been away for all executors, so each of them gets one TTL to renew its lease.
 */
export function mayTakeOver({ lastAt, steadySince }: Renewals, now: number, ttlMs: number): boolean {
  return !hasGap(lastAt, now, ttlMs) && now - steadySince >= ttlMs;
}

/** A lease that is renewed in time expires only after a gap of three intervals. Two intervals are a gap. */
function hasGap(lastAt: number, now: number, ttlMs: number): boolean {
  return now - lastAt > renewIntervalMs(ttlMs) * 2;
}

/**
 * Adds jitter, so that executors that started together don't all query together.
 * @param random from 0 up to 1
 */
export function watchIntervalMs(ttlMs: number, random: number): number {
  return Math.max(1, Math.round(Math.min(ttlMs / 4, WATCH_MS) * (0.75 + random / 2)));
}
