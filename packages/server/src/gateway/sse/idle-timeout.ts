/** The rule of 180 seconds (S10): when the stream of a turn without events ends. Pure. */

export interface IdleState {
  /** When the turn last gave an event; null while none runs, or one waits for a user. */
  readonly idleSince: number | null;
  /** When this stream was opened: it has waited no longer than that. */
  readonly openedAt: number;
}

export function hasTimedOut({ idleSince, openedAt }: IdleState, now: number, timeoutMs: number): boolean {
  return idleSince !== null && now - Math.max(idleSince, openedAt) >= timeoutMs;
}
