/**
 * `readTurnPage` reads turns page by page, newest to oldest. `readTurn` reads one turn.
 *
 * Invariant: pages don't overlap and have no gap, and a page has at least one turn if there is one. Turns that the log
 * has changed since archiving come from a folded state, the others from the archive. `readTurnPage` does not fold
 * events itself.
 */
import { findTurn, parseCursor, restoreTurn, type SessionState, type Turn } from "@turnstream/protocol";
import type { TurnRecord } from "../../store/archive.ts";
import type { SessionRef } from "../../util/refs.ts";
import { readHistory } from "./read-history.ts";
import { isEmptyTurn, textLength, MAX_TEXT_LENGTH } from "./turn-window.ts";
import type { Backend } from "../backend.ts";

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

/**
 * Returns at most `limit` turns, and fewer if they are long, because a page is read and sent as a whole.
 * @param state the current or a recent state; it may contain only the newest turn
 */
export async function readTurnPage(
  backend: Pick<Backend, "store">,
  ref: SessionRef,
  state: SessionState,
  { before, limit }: TurnPageOptions,
): Promise<TurnPage> {
  const turns: Turn[] = [];
  let length = 0;
  for await (const turn of turnsBack(backend, ref, state, before ?? Infinity)) {
    const oldest = turns[0];
    if (oldest !== undefined && (turns.length === limit || length > MAX_TEXT_LENGTH))
      return { turns, next: oldest.start };
    turns.unshift(turn);
    length += textLength(turn);
  }
  return { turns, next: null };
}

const STEP = 5;

/** Yields turns before `before`, newest first. */
async function* turnsBack(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  state: SessionState,
  before: number,
): AsyncIterable<Turn> {
  // Read the archived position after the state was made. Turns that started later come from the log, so the state has
  // them in full.
  const floor = parseCursor((await store.archive.header(ref)).archived)?.seq ?? 0;
  yield* state.turns
    .toArray()
    .filter(({ start }) => start > floor && start < before)
    .toReversed();
  // Turns that are newer than the state reach the client through the stream.
  for (let end: number | undefined = Math.min(before, floor + 1, state.seq + 1); end !== undefined;) {
    const records: TurnRecord[] = await store.turns.list(ref, { before: end, limit: STEP });
    for (const { id, snapshot } of records) {
      const known = findTurn(state, id);
      yield known === undefined || isEmptyTurn(known) ? restoreTurn(snapshot) : known;
    }
    end = records.at(-1)?.start;
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
