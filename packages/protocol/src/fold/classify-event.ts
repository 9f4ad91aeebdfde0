/**
 * `classifyEvent` classifies an event against the last folded position. Clients use it to detect gaps and rebuilt logs,
 * and the fold to skip known events.
 * Invariant: all readers use it, so that they fold, skip and reload alike. It runs for every event, so it must stay
 * cheap.
 */
import { parseCursor, type Position } from "../cursor.ts";

/**
 * - `next`: it directly follows the last position;
 * - `known`: it was folded before;
 * - `gap`: events before it are missing;
 * - `stale`: a writer of an earlier epoch wrote it after a takeover;
 * - `diverged`: the log was rebuilt, or a merged event starts before the last position; reload the state;
 * - `unreadable`: its id is not a cursor.
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

/** Same as `classifyEvent`, for an event whose position is already parsed. */
export function classifyEventAt(last: Position, event: Placed, { epoch, seq }: Position): EventClass {
  const first = event.first ?? seq;
  if (seq <= last.seq) return epoch > last.epoch ? "diverged" : "known";
  if (epoch < last.epoch) return "stale";
  if (first <= last.seq) return "diverged";
  if (first > last.seq + 1) return "gap";
  // The first event of an epoch must claim it. Without that event, the epoch started elsewhere in the log.
  return epoch > last.epoch && !claimsEpoch(event.type) ? "diverged" : "next";
}

/** Returns true for the events with which a writer takes over the log. */
export function claimsEpoch(type: string): boolean {
  return type === "session.start" || type === "turn.start" || type === "turn.takeover";
}
