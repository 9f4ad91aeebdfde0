/**
 * Puts turns that are over and archived before a state that was folded from a checkpoint, so that it can be shown. Such
 * turns never change, but for those with an open form or payment, and these the state has itself. Reads only.
 */
import { listBlocks, restoreTurn, Sequence, type SessionState, type Turn } from "@turnstream/protocol";
import type { SessionRef } from "../../store/refs.ts";
import type { Backend } from "../backend.ts";
import { hasPendingInteractions } from "./trim-state.ts";

export interface TurnWindow {
  readonly turns: number;
  /** About how much text at most; the newest turn is there in any case. */
  readonly maxLength?: number;
}

export const MAX_TEXT_LENGTH = 2_000_000;
/** Few at a time: a page is read in one go. */
const PAGE = 5;

/** @returns a window on the newest turns, and on older ones with an open form or payment */
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
      // One that was archived while it ran is older than a frame that has its end: nothing was said in it.
      const isUsable = known !== undefined && (!isEmptyTurn(known) || snapshot.status === "running");
      const turn = isUsable ? known : restoreTurn(snapshot);
      length += textLength(turn);
      shown.set(id, turn);
      before = start;
    }
    // What is not archived yet is all in the state: there is nothing older than this.
    if (page.length === 0) before = 0;
    left = page.length === 0 ? 0 : left - page.length;
  }
  const all = [...shown.values()].toSorted((a, b) => a.start - b.start);
  // Of what was not read there may be only a frame here. Nothing before it is shown either: pages of history have no holes.
  const bare = all.findLastIndex((turn) => turn.start < before && isEmptyTurn(turn));
  const from = Math.max(all.length - most, bare + 1);
  const turns = all.filter((turn, n) => n >= from || hasPendingInteractions(turn));
  const earlier = Math.max(0, state.earlier + own.length - turns.length);
  return { ...state, earlier, turns: Sequence.from(turns) };
}

/** Only the frame of a turn, or one in which nothing was said. */
export function isEmptyTurn(turn: Turn): boolean {
  return turn.status !== "running" && turn.items.length === 0;
}

/** About how much text it has. */
export function textLength(turn: Turn): number {
  let length = 0;
  for (const block of listBlocks(turn)) {
    if ("text" in block) length += block.text.length;
    if ("args" in block) length += block.args.length;
    if ("parts" in block) for (const part of block.parts) length += part.data.length;
  }
  return length;
}
