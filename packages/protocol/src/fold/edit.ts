/**
 * `changeTurn`, `placeItem`, `showItem` and `changeRun` are the edits of the fold, and `findTurn`, `findRun` and
 * `blockAt` its lookups.
 * Invariant: each edit shares everything that it does not change. `changeTurn` and `placeItem` return their input if
 * nothing changes. An index is used once: `placeItem` ignores a used index and one that is too far ahead.
 */
import { isWithinReach } from "../sequence.ts";
import { type Block, isBlock, type Item, type Run, type SessionState, type Turn } from "../state.ts";

/** Returns the index of a turn in the state, or -1. Searches from the newest turn, which is nearly always the one. */
export function turnSlot(state: SessionState, id: string): number {
  for (let slot = state.turns.length - 1; slot >= 0; slot--) {
    if (state.turns.get(slot)?.id === id) return slot;
  }
  return -1;
}

export function findTurn(state: SessionState, id: string): Turn | undefined {
  return state.turns.get(turnSlot(state, id));
}

/** Applies `change` to a turn. Returns the same state if the turn does not exist or does not change. */
export function changeTurn(state: SessionState, id: string, change: (turn: Turn) => Turn): SessionState {
  const slot = turnSlot(state, id);
  const turn = state.turns.get(slot);
  if (turn === undefined) return state;
  const changed = change(turn);
  return changed === turn ? state : { ...state, turns: state.turns.with(slot, changed) };
}

/** Returns true if the turn's counter can assign this index: it is unused and not too far ahead. */
export function isFree(turn: Turn, index: number): boolean {
  return index >= turn.items.length && isWithinReach(turn.items, index);
}

/** Places a new item at its index. Returns the same turn if the index is not free. */
export function placeItem(turn: Turn, item: Item): Turn {
  return isFree(turn, item.index) ? { ...turn, items: turn.items.place(item.index, item, null) } : turn;
}

/** Assigns an item the next number of the items that `blocks` clients receive. */
export function showItem(turn: Turn, item: Item): Turn {
  const items = turn.items.with(item.index, { ...item, shown: turn.shown_count });
  return { ...turn, items, shown_count: turn.shown_count + 1 };
}

/** Returns the block that an event names, if it is at the index of the event. */
export function blockAt(turn: Turn, index: number, id: string): Block | undefined {
  const item = turn.items.get(index) ?? null;
  return isBlock(item) && item.id === id ? item : undefined;
}

export function withItem(turn: Turn, item: Item): Turn {
  return { ...turn, items: turn.items.with(item.index, item) };
}

export function findRun(turn: Turn, id: string): Run | undefined {
  return turn.runs.find((run) => run.id === id);
}

export function changeRun(turn: Turn, id: string, change: (run: Run) => Run): Turn {
  return { ...turn, runs: turn.runs.map((run) => (run.id === id ? change(run) : run)) };
}
