/**
 * Turns of a session one page after the other, back in time, and single ones: those that the log has gone on with as they
 * are in a folded state, the others from the archive. Never folds itself.
 */
import { findTurn, parseCursor, restoreTurn, type SessionState, type Turn } from "@turnstream/protocol";
import type { TurnRecord } from "../../store/ports/archive.ts";
import type { SessionRef } from "../../store/refs.ts";
import { readHistory } from "./read-history.ts";
import { isEmptyTurn, textLength, MAX_TEXT_LENGTH } from "./turn-window.ts";
import type { Backend } from "../backend.ts";

export interface TurnPage {
  /** The oldest first. */
  readonly turns: readonly Turn[];
  /** For `before` of the next page; null when there is none. */
  readonly next: number | null;
}

export interface TurnPageOptions {
  /** The `start` of the oldest turn of the page before; the newest turns when absent. */
  readonly before?: number;
  readonly limit: number;
}

/**
 * At most `limit`, and fewer where they are long: a page is read and sent in one go.
 * @param state of now or of a moment ago; which turns it has beside the newest doesn't matter
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

/** How many of the newest turns go into one answer: at most `most`, fewer where they are long, and one in any case. */
export function countTurnsWithinLimit({ turns }: SessionState, most: number): number {
  let count = 0;
  for (let length = 0; count < Math.min(most, turns.length) && length <= MAX_TEXT_LENGTH; count++) {
    const turn = turns.get(turns.length - 1 - count);
    length += turn === undefined ? 0 : textLength(turn);
  }
  return count;
}

const STEP = 5;

/** The newest first. */
async function* turnsBack(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  state: SessionState,
  before: number,
): AsyncIterable<Turn> {
  // Read after the state was made: what is younger than this was folded from the log, and so all of it is in the state.
  const floor = parseCursor((await store.archive.header(ref)).archived)?.seq ?? 0;
  yield* state.turns
    .toArray()
    .filter(({ start }) => start > floor && start < before)
    .toReversed();
  // Of a later moment than the state's is what comes in the stream after it.
  for (let end: number | undefined = Math.min(before, floor + 1, state.seq + 1); end !== undefined;) {
    const records: TurnRecord[] = await store.turns.list(ref, { before: end, limit: STEP });
    for (const { id, snapshot } of records) {
      const known = findTurn(state, id);
      yield known === undefined || isEmptyTurn(known) ? restoreTurn(snapshot) : known;
    }
    end = records.at(-1)?.start;
  }
}

/** Null when the session has no such turn. */
export async function readTurn(backend: Backend, ref: SessionRef, id: string): Promise<Turn | null> {
  const { state } = await readHistory(backend, ref, { turns: 1 });
  const found = findTurn(state, id);
  if (found !== undefined) return found;
  const record = await backend.store.turns.get(ref, id);
  return record === null ? null : restoreTurn(record.snapshot);
}
