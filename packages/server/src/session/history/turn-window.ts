/**
 * `prependOlderTurns` adds archived turns to a state that was folded from a checkpoint, so that it can be displayed.
 * Reads only.
 *
 * Invariant: the window ends with the newest turn and has no gap, except before older turns with an open
 * request. Archived turns don't change, except these, and the state already has them. `earlier` counts the turns that
 * are left out.
 */
import { listBlocks, restoreTurn, Sequence, type SessionState, type Turn } from "@turnstream/protocol";
import type { SessionRef } from "../../util/refs.ts";
import type { Backend } from "../backend.ts";
import { hasPendingInteractions } from "../../store/archive.ts";

export interface TurnWindow {
  readonly turns: number;
  /** Approximate text limit. The newest turn is always included. @default 2000000 */
  readonly maxLength?: number;
}

export const MAX_TEXT_LENGTH = 2_000_000;
/** Small pages, because a page is read as a whole. */
const PAGE = 5;

/** @returns a window of the newest turns, plus older ones with an open request */
export async function prependOlderTurns(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  state: SessionState,
  { turns: most, maxLength = MAX_TEXT_LENGTH }: TurnWindow,
): Promise<SessionState> {
  const own = state.turns.toArray();
  const last = own.at(-1);
  if (last === undefined) return state;
  const shown = new Map(own.map((turn) => [turn.id, turn]));
  let length = textLength(last);
  let before = last.start + 1;
  for (let left = most; left > 0 && length < maxLength;) {
    const page = await store.turns.list(ref, { before, limit: Math.min(PAGE, left) });
    for (const { id, start, snapshot } of page) {
      const known = shown.get(id);
      // The turn was archived while it ran, so the archive is older than this state. The state has its end, and the
      // turn has no blocks.
      const isUsable = known !== undefined && (!isEmptyTurn(known) || snapshot.status === "running");
      const turn = isUsable ? known : restoreTurn(snapshot);
      length += textLength(turn);
      shown.set(id, turn);
      before = start;
    }
    // Turns that are not archived are all in the state, so there are no older ones.
    if (page.length === 0) before = 0;
    left = page.length === 0 ? 0 : left - page.length;
  }
  const all = [...shown.values()].toSorted((a, b) => a.start - b.start);
  // The state may have only the empty frame of an unread turn. Hide it and everything before it, so that the history
  // has no gap.
  const bare = all.findLastIndex((turn) => turn.start < before && isEmptyTurn(turn));
  const from = Math.max(all.length - most, bare + 1);
  const turns = all.filter((turn, n) => n >= from || hasPendingInteractions(turn));
  const earlier = Math.max(0, state.earlier + own.length - turns.length);
  return { ...state, earlier, turns: Sequence.from(turns) };
}

/** Returns how many of the newest turns fit into one response: at most `most`, fewer if they are long, at least one. */
export function countTurnsWithinLimit(turns: readonly Turn[], most: number): number {
  let count = 0;
  for (let length = 0; count < Math.min(most, turns.length) && length <= MAX_TEXT_LENGTH; count++) {
    const turn = turns.at(-1 - count);
    length += turn === undefined ? 0 : textLength(turn);
  }
  return count;
}

/** Returns true for a finished turn without blocks, such as one that `trimState` emptied. */
export function isEmptyTurn(turn: Turn): boolean {
  return turn.status !== "running" && turn.items.length === 0;
}

/** Returns the approximate length of a turn's text. */
export function textLength(turn: Turn): number {
  let length = 0;
  for (const block of listBlocks(turn)) {
    if ("text" in block) length += block.text.length;
    if ("args" in block) length += block.args.length;
    if ("parts" in block) for (const part of block.parts) length += part.data.length;
  }
  return length;
}
