/**
 * `isHandoffPoint` and `foldWithHandoffPoint` find handoff points, for clients that can't continue a half-streamed
 * block. Such a client receives history up to that position and the stream after it.
 * Invariant: in a running turn, a handoff point has no open thinking, text or files block, and no open group without a
 * message. Pending interactions, running calls and running results count as complete. The dialects that need handoff
 * points show calls and results only after their end. At worst, the point is right after the start of the turn.
 */
import type { ReadableEvent } from "./events/upgrade.ts";
import { fold } from "./fold/fold.ts";
import { isBlock, type SessionState, type Turn } from "./state.ts";

export function isHandoffPoint(state: SessionState): boolean {
  const turn = state.turns.last();
  if (turn === undefined || turn.status !== "running") return true;
  return turn.half_shown === 0 && !hasEmptyGroup(turn);
}

/** History marks a group on its first message, so a group without messages can't be handed off. */
function hasEmptyGroup(turn: Turn): boolean {
  if (turn.group === null) return false;
  for (let index = turn.items.length - 1; index >= 0; index--) {
    const item = turn.items.get(index) ?? null;
    if (item?.kind === "group_start" && item.id === turn.group) return true;
    if (isBlock(item) && item.end !== null && item.shown !== null) return false;
  }
  return true;
}

/** A state, and the state at its latest handoff point. */
export interface HandoffTracker {
  readonly state: SessionState;
  /** Null if no handoff point was seen: the tracker started inside a block and must start at an earlier position. */
  readonly handoff: SessionState | null;
}

export function trackHandoffPoint(state: SessionState): HandoffTracker {
  return { state, handoff: isHandoffPoint(state) ? state : null };
}

/** Folds an event and tracks the handoff point. Both states share nearly all of their data, so this is cheap. */
export function foldWithHandoffPoint(track: HandoffTracker, event: ReadableEvent): HandoffTracker {
  const state = fold(track.state, event);
  return { state, handoff: isHandoffPoint(state) ? state : track.handoff };
}
