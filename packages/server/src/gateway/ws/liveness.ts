/**
 * `checkLiveness` decides whether a socket's client is still connected. Pure.
 * Invariant: a lost connection is "dead" within `pingIntervalMs` plus `pongTimeoutMs` after the last received data.
 * Received data is noticed only at heartbeats, so the ping interval is shortened by the maximum delay of heartbeats.
 * After a ping, any data counts as an answer.
 */

export interface LivenessState {
  /** Time of the last heartbeat that noticed received data. */
  readonly receivedAt: number;
  /** When the last ping was sent; null if data has arrived since. */
  readonly pingedAt: number | null;
}

export interface LivenessLimits {
  readonly pingIntervalMs: number;
  readonly pongTimeoutMs: number;
  /** Time between two checks. */
  readonly heartbeatMs: number;
}

/** Heartbeats notice received data late, send pings late, and notice a missing pong late. */
const LATE_HEARTBEATS = 4;

/** A lost connection is `dead` within `pingIntervalMs` plus `pongTimeoutMs` after the last received data. */
export function checkLiveness(
  { receivedAt, pingedAt }: LivenessState,
  now: number,
  { pingIntervalMs, pongTimeoutMs, heartbeatMs }: LivenessLimits,
): "alive" | "ping" | "dead" {
  if (pingedAt !== null) return now - pingedAt >= pongTimeoutMs ? "dead" : "alive";
  return now - receivedAt >= Math.max(pingIntervalMs - LATE_HEARTBEATS * heartbeatMs, heartbeatMs)
    ? "ping"
    : "alive";
}
