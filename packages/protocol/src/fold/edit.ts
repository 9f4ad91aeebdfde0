/**
 * The few ways in which the fold changes a state: replace a turn, put an item in place, change a block.
 * Each shares everything it doesn't touch, and gives back what it got where there is nothing to do.
 */
import { isWithinReach, placedAt } from "../sequence.ts";
import { type Block, isBlock, type Item, type Run, type SessionState, type Turn } from "../state.ts";

/** Where a turn stands in the state, or -1. The newest turn is nearly always the one. */
export function turnSlot(state: SessionState, id: string): number {
  for (let slot = state.turns.length - 1; slot >= 0; slot--) {
    if (state.turns.get(slot)?.id === id) return slot;
  }
  return -1;
}

export function findTurn(state: SessionState, id: string): Turn | undefined {
  return state.turns.get(turnSlot(state, id));
}

/** Applies `change` to a turn; the same state when there is no such turn or it stays as it is. */
export function changeTurn(state: SessionState, id: string, change: (turn: Turn) => Turn): SessionState {
  const slot = turnSlot(state, id);
  const turn = state.turns.get(slot);
  if (turn === undefined) return state;
  const changed = change(turn);
  return changed === turn ? state : { ...state, turns: state.turns.with(slot, changed) };
}

/** Whether the turn's counter can give out this index: not used yet, and not absurdly far ahead. */
export function isFree(turn: Turn, index: number): boolean {
  return index >= turn.items.length && isWithinReach(turn.items, index);
}

/** Puts a new item at its index; the turn as it was when the place is taken. */
export function placeItem(turn: Turn, item: Item): Turn {
  return isFree(turn, item.index) ? { ...turn, items: placedAt(turn.items, item.index, item, null) } : turn;
}

/** Gives an item its number among what is shown. */
export function showItem(turn: Turn, item: Item): Turn {
  const items = turn.items.with(item.index, { ...item, shown: turn.shown_count });
  return { ...turn, items, shown_count: turn.shown_count + 1 };
}

/** The block that an event names, if it stands where the event says. */
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
