/**
 * `TIMING` has the timeouts of a connection, and `backoffMs` and `jitterMs` compute its delays. Pure.
 * Invariant: `sseIdleMs` exceeds the server's heartbeat interval of 15 seconds, and `dialectIdleMs` the 180 seconds
 * that other servers can be silent. Every delay has jitter, so that clients don't reconnect at the same time.
 */

/** Backoff after the first quick retry: doubles with each failure, up to the maximum. */
const MIN_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
/** First retry after a live connection was lost, for example by a change of networks. */
const FIRST_RETRY_MS = 100;
/** Spreads the reconnects of clients that a restarting server disconnected at the same time. */
const RESTART_JITTER_MS = { min: 500, max: 3_000 };

export const TIMING = {
  /** For credentials and a ticket; slow phones need a part of it. */
  authorizeMs: 30_000,
  openMs: 20_000,
  /** A socket that received nothing for this long is probed. */
  websocketIdleMs: 25_000,
  /** A socket that received nothing since it opened is probed sooner. */
  firstFrameMs: 5_000,
  /** An event stream has a heartbeat every 15 seconds. */
  sseIdleMs: 45_000,
  pongMs: 15_000,
  /** Servers of the original formats send no heartbeats and can be silent for 180 seconds. */
  dialectIdleMs: 190_000,
  /** After a wake-up, a channel that received something this recently is not probed. */
  recentMs: 5_000,
  /** How often to retry although the browser reports no network, because that can be wrong. */
  offlineRetryMs: 30_000,
  /** A shorter connection counts as a failure. */
  shortConnectionMs: 5_000,
  /** How long a page keeps a connection that it doesn't need after it was hidden. */
  hiddenMs: 60_000,
  /** How long a hidden page keeps its connection after it needed it, because a command can have effects after its reply. */
  unneededMs: 5_000,
  /** How long to use event streams if sockets are blocked. */
  sseFallbackMs: 300_000,
} as const;

/** @param failures failures since the last live connection; 0 for the first retry  @param random from 0 to 1 */
export function backoffMs(failures: number, random: number): number {
  if (failures <= 0) return Math.round(FIRST_RETRY_MS * (1 + 2 * random));
  return Math.round(Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** (failures - 1)) * (0.5 + random / 2));
}

export function jitterMs(random: number): number {
  return Math.round(RESTART_JITTER_MS.min + (RESTART_JITTER_MS.max - RESTART_JITTER_MS.min) * random);
}
