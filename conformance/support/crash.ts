/**
 * What a log looks like when the writer died and only the end of the turn was written for it.
 */
import { type SessionEvent, foldAll, SCHEMA_VERSION } from "@turnstream/protocol";

/** The log with its running turn ended, whatever is open in it. */
export function crashed(events: readonly SessionEvent[]): SessionEvent[] {
  const state = foldAll(events);
  const turn = state.turns.last();
  if (turn?.status !== "running") return [...events];
  const id = `${state.epoch}-${state.seq + 1}`;
  const end = {
    v: SCHEMA_VERSION,
    id,
    at: 1,
    type: "turn.end",
    turn: turn.id,
    reason: "error",
    duration_ms: 1,
  } as const;
  return [...events, end];
}
