/**
 * Where an event stands beside what was folded before it. Cheap enough for every event: clients use it to see
 * gaps and lost timelines, the fold to leave out what it has.
 */
import { parseCursor, type Position } from "../cursor.ts";

/**
 * - `next`: it follows right after the last position;
 * - `known`: it was folded before;
 * - `gap`: events before it are missing;
 * - `stale`: a writer of an earlier epoch wrote it, after another had taken over;
 * - `diverged`: the log was rebuilt, or a merged event reaches back over the last position; load the state anew;
 * - `unreadable`: its id is not a position.
 */
export type EventClass = "next" | "known" | "gap" | "stale" | "diverged" | "unreadable";

export function classifyEvent(last: Position, event: Placed): EventClass {
  const position = parseCursor(event.id);
  return position === null ? "unreadable" : classifyEventAt(last, event, position);
}

interface Placed {
  readonly id: string;
  readonly type: string;
  readonly first?: number;
}

/** The same for an event whose position has been read. */
export function classifyEventAt(last: Position, event: Placed, { epoch, seq }: Position): EventClass {
  const first = event.first ?? seq;
  if (seq <= last.seq) return epoch > last.epoch ? "diverged" : "known";
  if (epoch < last.epoch) return "stale";
  if (first <= last.seq) return "diverged";
  if (first > last.seq + 1) return "gap";
  // The first event of an epoch is one that claims it: without it, that epoch began somewhere else.
  return epoch > last.epoch && !claimsEpoch(event.type) ? "diverged" : "next";
}

/** The events with which a writer takes the log over. */
export function claimsEpoch(type: string): boolean {
  return type === "session.start" || type === "turn.start" || type === "turn.takeover";
}
