/**
 * Turns of a session one page after the other, back in time, and single ones: those that the log has gone on with as they
 * are in a folded state, the others from the archive. Never folds itself.
 */
import { findTurn, parseCursor, restoreTurn, type SessionState, type Turn } from "@turnstream/protocol";
import type { Ref } from "../store/refs.ts";
import { readHistory } from "./history.ts";
import type { Parts } from "./parts.ts";

export interface TurnPage {
  /** The oldest first. */
  readonly turns: readonly Turn[];
  /** For `before` of the next page; null when there is none. */
  readonly next: number | null;
}

export interface PageWish {
  /** The `start` of the oldest turn of the page before; the newest turns when absent. */
  readonly before?: number;
  readonly limit: number;
}

/** @param state of now or of a moment ago; which turns it has beside the newest doesn't matter */
export async function pageOfTurns(
  { store }: Pick<Parts, "store">,
  ref: Ref,
  state: SessionState,
  { before = Infinity, limit }: PageWish,
): Promise<TurnPage> {
  // Read after the state was made: what is younger than this was folded from the log, and so all of it is in the state.
  const floor = parseCursor((await store.archive.header(ref)).archived)?.seq ?? 0;
  const young = state.turns.toArray().filter(({ start }) => start > floor && start < before);
  // One more than is shown says whether there is another page.
  const missing = limit + 1 - young.length;
  // Of a later moment than the state's is what comes in the stream after it.
  const end = Math.min(before, floor + 1, state.seq + 1);
  const records = missing > 0 ? await store.turns.list(ref, { before: end, limit: missing }) : [];
  const old = records.map(({ id, snapshot }) => findTurn(state, id) ?? restoreTurn(snapshot));
  const all = [...old.toReversed(), ...young];
  const turns = all.slice(-limit);
  return { turns, next: all.length > limit ? (turns[0]?.start ?? null) : null };
}

/** Null when the session has no such turn. */
export async function readTurn(parts: Parts, ref: Ref, id: string): Promise<Turn | null> {
  const { state } = await readHistory(parts, ref, { turns: 1 });
  const found = findTurn(state, id);
  if (found !== undefined) return found;
  const record = await parts.store.turns.get(ref, id);
  return record === null ? null : restoreTurn(record.snapshot);
}
