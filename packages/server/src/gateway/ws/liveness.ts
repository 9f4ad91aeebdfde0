/**
 * `checkLiveness` decides whether the other end is still there. Pure. What came in is seen only at heartbeats, so each wait
 * is shortened by what a heartbeat can be late.
 */

export interface LivenessState {
  /** When a heartbeat last saw that something had come in. */
  readonly receivedAt: number;
  /** When it was pinged; null when something has come in since. */
  readonly pingedAt: number | null;
}

export interface LivenessLimits {
  readonly pingIntervalMs: number;
  readonly pongTimeoutMs: number;
  /** Between two checks. */
  readonly heartbeatMs: number;
}

/** A heartbeat sees late that something came, and pings late; it may also find late that no answer came. */
const LATE_HEARTBEATS = 4;

/** A lost connection is `dead` within `pingIntervalMs` and `pongTimeoutMs` of the last that came from it. */
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
