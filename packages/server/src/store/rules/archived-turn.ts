/**
 * `changedTurns` returns the rows of the turns that a batch changes, `foldStoredTurn` the turn of a row and its archived
 * events, and `foldStoredTurns` those of several rows.
 *
 * Invariant: the archived events from the start of a turn to its end give the whole turn, together with its message. A
 * row has a snapshot only if a form or payment of the ended turn is open or changed after its end, because the events
 * of that are elsewhere in the session. So content is stored once, and a step doesn't rewrite its turn.
 */
import {
  emptyState,
  findTurn,
  fold,
  isPending,
  listBlocks,
  parseCursor,
  SCHEMA_VERSION,
  type SessionEvent,
  type SessionState,
  type Turn,
  upgradeEvent,
} from "@turnstream/protocol";
import { outlivesTurn, turnSnapshot } from "@turnstream/protocol/writer";
import { yieldToEventLoop } from "../../util/sleep.ts";
import type { ArchivedTurn, FoldVersion, TurnRecord } from "../ports/archive.ts";

/** Returns true if the turn has a form or payment that is still open. */
export function hasPendingInteractions(turn: Turn): boolean {
  return listBlocks(turn).some((block) => "version" in block && outlivesTurn(block) && isPending(block));
}

/** @param before the archived state, at least with every turn that the batch changes and does not start */
export function changedTurns(before: SessionState, after: SessionState): ArchivedTurn[] {
  return after.turns.toArray().flatMap((turn) => {
    const known = findTurn(before, turn.id);
    if (turn === known) return [];
    const row = archivedTurn(turn);
    const isSame =
      known !== undefined &&
      row.snapshot === null &&
      known.status === turn.status &&
      hasPendingInteractions(known) === row.open;
    return isSame ? [] : [row];
  });
}

export function archivedTurn(turn: Turn): ArchivedTurn {
  const { id, start, end, status, message } = turn;
  const open = hasPendingInteractions(turn);
  const isSnapshotNeeded = end !== null && (open || hasChangedAfter(turn, end));
  return { id, start, end, status, open, message, snapshot: isSnapshotNeeded ? turnSnapshot(turn) : null };
}

function hasChangedAfter(turn: Turn, end: number): boolean {
  return listBlocks(turn).some((block) => "version" in block && block.changed > end);
}

/** The stored part of a turn. `v` is the version of its snapshot. */
export interface StoredTurn extends Pick<ArchivedTurn, "start" | "end" | "message" | "snapshot"> {
  readonly v: FoldVersion;
}

/** Events between two pauses. */
const SLICE = 200;

/**
 * @param events archived events, ascending, that include those of the turn. Not read if there is a snapshot
 * @returns null if the events of the turn are missing
 */
export async function foldStoredTurn(
  { start, end, message, snapshot, v }: StoredTurn,
  events: readonly SessionEvent[],
): Promise<Pick<TurnRecord, "snapshot" | "v"> | null> {
  if (snapshot !== null) return { snapshot, v };
  let state: SessionState | null = null;
  for (const [n, event] of events.entries()) {
    // A turn can have many thousands of events, and other requests must not wait for all of them.
    if (n % SLICE === SLICE - 1) await yieldToEventLoop();
    const at = parseCursor(event.id);
    if (at === null || at.seq < start) continue;
    if (end !== null && at.seq > end) break;
    state ??= {
      ...emptyState,
      epoch: at.epoch,
      seq: start - 1,
      waiting: message === null ? [] : [message],
    };
    state = fold(state, upgradeEvent(event));
  }
  const turn = state?.turns.get(0);
  return turn === undefined ? null : { snapshot: turnSnapshot(turn), v: SCHEMA_VERSION };
}

export interface FoldedRow<Row> {
  readonly row: Row;
  readonly turn: Pick<TurnRecord, "snapshot" | "v">;
}

/** Folds one row after the other, without those whose events are missing. */
export async function foldStoredTurns<Row extends StoredTurn>(
  rows: readonly { readonly row: Row; readonly events: readonly SessionEvent[] }[],
): Promise<FoldedRow<Row>[]> {
  const folded: FoldedRow<Row>[] = [];
  for (const { row, events } of rows) {
    const turn = await foldStoredTurn(row, events);
    if (turn !== null) folded.push({ row, turn });
  }
  return folded;
}
