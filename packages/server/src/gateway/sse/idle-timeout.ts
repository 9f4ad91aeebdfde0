/**
 * `hasTimedOut` decides when the stream of a turn without events ends: after `turnIdleTimeoutMs`, by default 180
 * seconds. Pure.
 * Invariant: the timeout starts no earlier than the stream itself, so that a client that reconnects to an idle turn
 * gets the whole time. A turn that waits for a user never times out.
 */

export interface IdleState {
  /** When the turn wrote its last event; null if no turn runs or the turn waits for a user. */
  readonly idleSince: number | null;
  /** When this stream was opened. The timeout starts no earlier. */
  readonly openedAt: number;
}

export function hasTimedOut({ idleSince, openedAt }: IdleState, now: number, timeoutMs: number): boolean {
  return idleSince !== null && now - Math.max(idleSince, openedAt) >= timeoutMs;
}
