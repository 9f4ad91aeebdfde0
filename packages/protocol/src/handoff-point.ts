/**
 * The quiet point: the hand-off for clients that can't take up a half-streamed block. It is the latest
 * position where everything shown so far is whole. Such a client gets history as of that position and the
 * stream after it; at worst that is just after the turn's start.
 *
 * An interaction that waits is whole, and so are a call or a result under way: the dialects that need this
 * show those only once they have ended.
 */
import type { ReadableEvent } from "./events/upgrade.ts";
import { fold } from "./fold/fold.ts";
import { isBlock, type SessionState, type Turn } from "./state.ts";

export function isHandoffPoint(state: SessionState): boolean {
  const turn = state.turns.last();
  if (turn === undefined || turn.status !== "running") return true;
  return turn.half_shown === 0 && !hasEmptyGroup(turn);
}

/** History marks a group on its first message, so a group that has none yet can't be handed over. */
function hasEmptyGroup(turn: Turn): boolean {
  if (turn.group === null) return false;
  for (let index = turn.items.length - 1; index >= 0; index--) {
    const item = turn.items.get(index) ?? null;
    if (item?.kind === "group_start" && item.id === turn.group) return true;
    if (isBlock(item) && item.end !== null && item.shown !== null) return false;
  }
  return true;
}

/** A state, and the state at its latest quiet point. */
export interface HandoffTracker {
  readonly state: SessionState;
  /** Null while none has been seen: who begins in mid-block has to begin further back. */
  readonly handoff: SessionState | null;
}

export function trackHandoffPoint(state: SessionState): HandoffTracker {
  return { state, handoff: isHandoffPoint(state) ? state : null };
}

/** Folds an event and remembers the quiet point; keeping it is cheap, for the states share nearly all. */
export function foldWithHandoffPoint(track: HandoffTracker, event: ReadableEvent): HandoffTracker {
  const state = fold(track.state, event);
  return { state, handoff: isHandoffPoint(state) ? state : track.handoff };
}
