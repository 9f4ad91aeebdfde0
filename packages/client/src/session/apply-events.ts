/**
 * `applyEvents` applies incoming events to the state of a session. Pure.
 * Invariant: it skips known events and stops at the first gap or rebuilt log. The returned state contains every event
 * before that and none after it.
 */
import { classifyEvent, fold, type SessionEvent, type SessionState } from "@turnstream/protocol";

export interface AppliedEvents {
  readonly state: SessionState;
  /** gap: subscribe again from this position. diverged: the log was rebuilt; load a snapshot. */
  readonly outcome: "ok" | "gap" | "diverged";
}

/** Folds the next events, skips known ones, and stops at a gap. */
export function applyEvents(before: SessionState, events: readonly SessionEvent[]): AppliedEvents {
  let state = before;
  for (const event of events) {
    const next = fold(state, event);
    // Nearly every event is the next one, and the fold has already checked its position.
    const isNext = next !== state && (event.first ?? next.seq) === state.seq + 1;
    if (!isNext) {
      const place = classifyEvent(state, event);
      if (place === "gap" || place === "diverged") return { state, outcome: place };
    }
    state = next;
  }
  return { state, outcome: "ok" };
}
