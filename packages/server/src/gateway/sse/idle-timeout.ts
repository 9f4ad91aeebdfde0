/** The rule of 180 seconds (S10): when a stream of a turn that runs without a word is ended. Pure. */

export interface IdleState {
  /** When the turn last gave an event; null while none runs, or one waits for a person. */
  readonly silentSince: number | null;
  /** When this stream was opened: it has waited no longer than that. */
  readonly openedAt: number;
}

export function hasTimedOut({ silentSince, openedAt }: IdleState, now: number, silenceMs: number): boolean {
  return silentSince !== null && now - Math.max(silentSince, openedAt) >= silenceMs;
}
