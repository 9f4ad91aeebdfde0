/**
 * Whether the other end is still there. Pure: when it was last heard is seen only now and then, at beats, so each wait is
 * shortened by what a beat can be late.
 */

export interface LivenessState {
  /** When a beat last saw that something had come in. */
  readonly heardAt: number;
  /** When it was asked; null when it has answered since. */
  readonly askedAt: number | null;
}

export interface LivenessLimits {
  readonly pingIntervalMs: number;
  readonly pongTimeoutMs: number;
  /** Between two looks. */
  readonly heartbeatMs: number;
}

/** A beat sees late that something came, and asks late; it may also find late that no answer came. */
const LATE_BEATS = 4;

/** Whoever is gone is `dead` within `pingIntervalMs` and `pongTimeoutMs` of the last that came from it. */
export function checkLiveness(
  { heardAt, askedAt }: LivenessState,
  now: number,
  { pingIntervalMs, pongTimeoutMs, heartbeatMs }: LivenessLimits,
): "fine" | "ask" | "dead" {
  if (askedAt !== null) return now - askedAt >= pongTimeoutMs ? "dead" : "fine";
  return now - heardAt >= Math.max(pingIntervalMs - LATE_BEATS * heartbeatMs, heartbeatMs) ? "ask" : "fine";
}
