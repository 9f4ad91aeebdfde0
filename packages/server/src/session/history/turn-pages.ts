/**
 * `readTurnPage` reads turns page by page, newest to oldest. `prependOlderTurns` adds the newest page to a state that
 * was folded from a checkpoint, so that it can be displayed. `readTurn` reads one turn.
 *
 * Invariant: pages don't overlap and have no gap, and a page has at least one turn if there is one. Turns that the log
 * has changed since archiving come from a folded state, the others from the archive. `readTurnPage` does not fold
 * events itself.
 */
import {
  findTurn,
  listBlocks,
  restoreTurn,
  Sequence,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import { hasPendingInteractions } from "../../store/archive.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Backend } from "../backend.ts";
import { readHistory } from "./read-history.ts";

export interface TurnPage {
  /** Oldest first. */
  readonly turns: readonly Turn[];
  /** Pass it as `before` for the next page; null if there is none. */
  readonly next: number | null;
}

export interface TurnPageOptions {
  /** `start` of the oldest turn of the previous page. Default: start with the newest turn. */
  readonly before?: number;
  readonly limit: number;
}

export const MAX_TEXT_LENGTH = 2_000_000;

/**
 * Returns at most `limit` turns, and fewer if they are long, because a page is read and sent as a whole.
 * @param state the current or a recent state; it may contain only the newest turn
 */
export async function readTurnPage(
  backend: Pick<Backend, "store">,
  ref: SessionRef,
  state: SessionState,
  { before = Infinity, limit }: TurnPageOptions,
): Promise<TurnPage> {
  const turns: Turn[] = [];
  let length = 0;
  for await (const turn of turnsBack(backend, ref, state, before)) {
    const oldest = turns[0];
    if (oldest !== undefined && (turns.length === limit || length > MAX_TEXT_LENGTH))
      return { turns, next: oldest.start };
    turns.unshift(turn);
    length += textLength(turn);
  }
  return { turns, next: null };
}

/**
 * @param options.maxLength approximate text limit; the newest turn is always included
 * @returns a window of the newest turns, plus older ones with an open request. `earlier` counts the others
 */
export async function prependOlderTurns(
  backend: Pick<Backend, "store">,
  ref: SessionRef,
  state: SessionState,
  { turns: limit, maxLength = MAX_TEXT_LENGTH }: { readonly turns: number; readonly maxLength?: number },
): Promise<SessionState> {
  const window: Turn[] = [];
  let length = 0;
  for await (const turn of turnsBack(backend, ref, state, Infinity)) {
    window.unshift(turn);
    length += textLength(turn);
    if (window.length === limit || length >= maxLength) break;
  }
  const oldest = window[0]?.start ?? 0;
  const own = state.turns.toArray();
  const pending = own.filter((turn) => turn.start < oldest && hasPendingInteractions(turn));
  const earlier = Math.max(0, state.earlier + own.length - pending.length - window.length);
  return { ...state, earlier, turns: Sequence.from([...pending, ...window]) };
}

/** Small pages, because a page is read as a whole. */
const STEP = 5;

/** Yields turns before `before`, newest first. Those that are newer than the state reach the client by the stream. */
async function* turnsBack(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  state: SessionState,
  before: number,
): AsyncIterable<Turn> {
  const own = state.turns.toArray().filter(({ start }) => start < before);
  // Read the archive after the state was made. It has no later turns yet, so the state has them in full.
  let records = await store.turns.list(ref, { before: Math.min(before, state.seq + 1), limit: STEP });
  const newest = records[0]?.start ?? 0;
  yield* own.filter(({ start }) => start > newest).toReversed();
  while (records.length > 0) {
    let end = 0;
    for (const { id, start, snapshot } of records) {
      const known = findTurn(state, id);
      // A turn that was archived while it ran, and has ended without blocks since, is newer in the state.
      const isKnown = known !== undefined && (!isEmptyTurn(known) || snapshot.status === "running");
      yield isKnown ? known : restoreTurn(snapshot);
      end = start;
    }
    records = await store.turns.list(ref, { before: end, limit: STEP });
  }
}

/** Returns null if the session has no such turn. */
export async function readTurn(backend: Backend, ref: SessionRef, id: string): Promise<Turn | null> {
  const { state } = await readHistory(backend, ref, { turns: 1 });
  const found = findTurn(state, id);
  if (found !== undefined) return found;
  const record = await backend.store.turns.get(ref, id);
  return record === null ? null : restoreTurn(record.snapshot);
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
function isEmptyTurn(turn: Turn): boolean {
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
