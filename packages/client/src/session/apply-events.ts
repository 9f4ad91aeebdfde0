/** What events make of a session: folded where they belong, left out where they are known, refused where some are missing. Pure. */
import { type SessionEvent, fold, classifyEvent, type SessionState } from "@turnstream/protocol";

export interface Taken {
  readonly state: SessionState;
  /** gap: ask again from here. diverged: what is here is of a log that is lost, load it anew. */
  readonly verdict: "fine" | "gap" | "diverged";
}

export function takeEvents(before: SessionState, events: readonly SessionEvent[]): Taken {
  let state = before;
  for (const event of events) {
    const next = fold(state, event);
    // Nearly every event is the next one, and then the fold has looked at its place already.
    const isNext = next !== state && (event.first ?? next.seq) === state.seq + 1;
    if (!isNext) {
      const place = classifyEvent(state, event);
      if (place === "gap" || place === "diverged") return { state, verdict: place };
    }
    state = next;
  }
  return { state, verdict: "fine" };
}
