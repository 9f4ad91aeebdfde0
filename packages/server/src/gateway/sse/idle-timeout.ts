/** `hasTimedOut` decides when the stream of a turn without events ends, by default after 180 seconds. Pure. */

export interface IdleState {
  /** When the turn wrote its last event; null if no turn runs or the turn waits for a user. */
  readonly idleSince: number | null;
  /** When this stream was opened. The timeout starts no earlier. */
  readonly openedAt: number;
}

export function hasTimedOut({ idleSince, openedAt }: IdleState, now: number, timeoutMs: number): boolean {
  return idleSince !== null && now - Math.max(idleSince, openedAt) >= timeoutMs;
}
