/** The timeouts and backoff of a connection. Pure. */

/** Beyond a first, quick return: doubled each time, up to the last. */
const MIN_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
/** A connection that was good and is lost, as when somebody walks from one network to another. */
const FIRST_RETRY_MS = 100;
/** Everybody whom a server sends away at once comes back at another moment. */
const RESTART_JITTER_MS = { min: 500, max: 3_000 };

export const TIMING = {
  /** For credentials and a ticket; a slow phone needs some of it. */
  authorizeMs: 30_000,
  openMs: 20_000,
  /** A socket that has received nothing for so long is probed. */
  websocketIdleMs: 25_000,
  /** A socket that has received nothing since it opened is probed sooner. */
  firstFrameMs: 5_000,
  /** An event stream has a heartbeat every 15 seconds. */
  sseIdleMs: 45_000,
  pongMs: 15_000,
  /** Servers of the documents know no heart-beats, and may think for 180 seconds. */
  dialectIdleMs: 190_000,
  /** After a wake-up: a channel that received something so recently is not probed. */
  recentMs: 5_000,
  /** A machine that says it has no network may be wrong. */
  offlineRetryMs: 30_000,
  /** A connection of less than that counts as a failure to stay. */
  shortConnectionMs: 5_000,
  /** For how long event streams are used where sockets don't pass. */
  sseFallbackMs: 300_000,
} as const;

/** @param failures since it was last good; 0 for the first return  @param random from 0 to 1 */
export function backoffMs(failures: number, random: number): number {
  if (failures <= 0) return Math.round(FIRST_RETRY_MS * (1 + 2 * random));
  return Math.round(Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** (failures - 1)) * (0.5 + random / 2));
}

export function jitterMs(random: number): number {
  return Math.round(RESTART_JITTER_MS.min + (RESTART_JITTER_MS.max - RESTART_JITTER_MS.min) * random);
}
