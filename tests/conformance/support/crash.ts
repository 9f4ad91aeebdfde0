/**
 * `crashed` returns the log of a writer that died, where another writer wrote only the end of the turn.
 */
import { type SessionEvent, foldAll, SCHEMA_VERSION } from "@turnstream/protocol";

/** Ends the running turn of a log and leaves everything in it open. */
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
