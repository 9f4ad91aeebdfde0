/**
 * `Archive` is the part of the store for archived events, turns and the header of a session; `archive-sql.ts` reads it,
 * and `write-archive.ts` writes. `checkBatch` verifies that a batch is complete, `nextFoldVersion` and `isExactFor`
 * decide about the version of a fold, and `foldStoredTurn` returns the turn of a row and its events.
 *
 * Invariant: only `archive.write` changes the archive, in one commit, from the current archived position and under the
 * newest epoch. The events of a batch cover exactly the range from `from` to `to`, in order and without gaps. A stored
 * state is used only if it equals what the reader itself would fold. A row has a snapshot only if a request of
 * the ended turn is open or changed after its end, because the events of that are elsewhere in the session. So content
 * is stored once, and a step doesn't rewrite its turn.
 */
import {
  type TurnSnapshot,
  type Cursor,
  type TurnStatus,
  type UserMessage,
  type SessionEvent,
  type Snapshot,
  type Position,
  comparePositions,
  parseCursor,
  SCHEMA_VERSION,
  type Turn,
  listBlocks,
  isPending,
  type SessionState,
  emptyState,
  fold,
  upgradeEvent,
} from "@turnstream/protocol";
import { outlivesTurn, turnSnapshot } from "@turnstream/protocol/writer";
import type { SessionRef } from "../util/refs.ts";
import { yieldToEventLoop } from "../util/sleep.ts";
import type { SessionHeader } from "./database/schema.ts";
import { StoreError } from "./errors.ts";
import type { NewJournalEntry } from "./journal.ts";
import { checkCursor } from "./rules/arguments.ts";

/** An archived turn, as it was at the archived position. Only `archive.write` writes it. */
export interface TurnRecord extends Omit<ArchivedTurn, "message" | "snapshot"> {
  readonly snapshot: TurnSnapshot;
  readonly v: FoldVersion;
}

export interface ArchivedHeader {
  readonly archived: Cursor;
  /** The header at `archived`, or null if nothing is archived yet. */
  readonly header: SessionHeader | null;
  /** The version of the fold; see `FoldVersion`. Null if nothing is archived yet. */
  readonly v: FoldVersion | null;
}

/**
 * The turns have the form of this schema version. If that is impossible for one of them, `v` is the version of that turn,
 * and the events must be folded again.
 */
export interface ArchivedWindow extends ArchivedHeader {
  /** Ascending by start. */
  readonly turns: readonly TurnSnapshot[];
  /** How many of the session's turns are not in `turns`. */
  readonly earlier: number;
}

/**
 * The schema version that folded a header or a turn. It is negative if that version folded events of a newer version, or
 * continued from a state of a newer version. The state then lacks what only the newer version knows.
 */
export type FoldVersion = number;

/** The row of a turn. Its other content is in the archived events from `start` to `end`. */
export interface ArchivedTurn {
  readonly id: string;
  /** The seq of its start. */
  readonly start: number;
  /** The seq of its end, or null if it runs. */
  readonly end: number | null;
  readonly status: TurnStatus;
  /** True if the turn has an open request. */
  readonly open: boolean;
  /** The message that it answers. Its event is before those of the turn. */
  readonly message: UserMessage | null;
  /** The whole turn, if it has ended and a request is open or changed later. Otherwise null. */
  readonly snapshot: TurnSnapshot | null;
}

export interface ArchiveBatch {
  /** The archived position before this batch. */
  readonly from: Cursor;
  /** The archived position after this batch. */
  readonly to: Cursor;
  /** The newest epoch of the log, read in the same atomic step as the events. */
  readonly epoch: number;
  /** Coalesced and ascending. They cover exactly the range from `from` to `to`, without gaps. */
  readonly events: readonly SessionEvent[];
  /** The turns that started, ended, or changed after their end. */
  readonly turns: readonly ArchivedTurn[];
  /** The header at `to`. */
  readonly header: SessionHeader;
  /** The schema version that folded this batch. `nextFoldVersion` decides what is stored. */
  readonly v: number;
  /**
   * The state right before the last `turn.start` in `events`, as far as folding needs it. Absent without such an event;
   * the stored checkpoint then stays.
   */
  readonly checkpoint?: Snapshot;
  /** Keys of the outbox rows whose events are in this batch. */
  readonly delivered?: readonly string[];
  /**
   * Journal entries that depend on these events, of one turn and under one epoch. They are written in the same commit,
   * also if the events are archived already.
   */
  readonly journal?: readonly NewJournalEntry[];
}

/**
 * - "already": a repeat; nothing changed.
 * - `conflict`: the position to continue from.
 * - `behind`: a higher epoch than the log's was issued, so these events may be on a timeline that is being lost.
 */
export type ArchiveResult =
  | "written"
  | "already"
  | { readonly conflict: Cursor }
  | { readonly behind: number };

/**
 * The part of the store for the archive: the header of the folded session and the coalesced events it came from. The archiver
 * supplies both, and each write keeps them in step. Turns are folded from their events when they are read. Does not read
 * the log.
 */
export interface Archive {
  /** @throws StoreError with NOT_FOUND if the session does not exist. */
  header(ref: SessionRef): Promise<ArchivedHeader>;
  /**
   * Returns the newest `turns` turns and every older one with an open request, all read at the same moment.
   * @throws StoreError with NOT_FOUND if the session does not exist.
   */
  window(ref: SessionRef, turns: number): Promise<ArchivedWindow>;
  /**
   * Returns the state right before the newest archived turn started, or null if none was stored.
   * @throws StoreError with NOT_FOUND if the session does not exist.
   */
  checkpoint(ref: SessionRef): Promise<Snapshot | null>;
  /**
   * Writes the whole batch and moves the archived position from `from` to `to` in one commit, or does nothing. Of
   * several writers with the same `from`, one gets "written".
   *
   * The log must have been claimed under the newest issued epoch when the batch was read. Only a read after that claim
   * is sure to be on the timeline that continues.
   * @throws StoreError with INVALID for a batch with gaps, with FENCED like `journal.write`; then nothing is written.
   */
  write(ref: SessionRef, batch: ArchiveBatch): Promise<ArchiveResult>;
  /**
   * Returns, in ascending order, the events that end after the seq `after`. A merged event that contains `after` comes
   * first, whole.
   */
  events(ref: SessionRef, page: { readonly after: number; readonly limit: number }): Promise<SessionEvent[]>;
  /**
   * Creates the partitions for the events, turns and journals of new sessions. With `retentionMs`, it also drops those of a
   * period of new sessions at once, when the period ended that long ago. It copies the rows of those sessions that still
   * exist before, at most `limit` sessions per call. A session whose turn a process runs is copied later, and delays only
   * its own period. Call it periodically.
   */
  maintain(query: {
    readonly retentionMs: number | null;
    readonly limit: number;
  }): Promise<ArchiveMaintenance>;
}

export interface ArchiveMaintenance {
  /** Sessions whose rows were copied out of a period that has expired. */
  readonly moved: number;
  /** Periods that were dropped with all their rows. */
  readonly dropped: number;
}

export interface CheckedBatch {
  readonly from: Position;
  readonly to: Position;
  /** The span of each event, in the order of `batch.events`. */
  readonly spans: readonly EventSpan[];
  /** True if a turn starts or ends in the batch. */
  readonly turning: boolean;
  /** True if the batch has events of a newer schema version than the one that folded it. */
  readonly hasNewerEvents: boolean;
}

export interface EventSpan extends Position {
  /** The first seq; `seq` is the last. */
  readonly first: number;
}

export function checkBatch(batch: ArchiveBatch): CheckedBatch {
  const from = checkCursor(batch.from, "from");
  const to = checkCursor(batch.to, "to");
  if (comparePositions(from, to) > 0) throw invalid(`to is ${batch.to}, which is before from`);
  const spans: EventSpan[] = [];
  let last = from;
  for (const event of batch.events) {
    const span = spanAfter(last, event);
    spans.push(span);
    last = span;
  }
  if (comparePositions(last, to) !== 0) throw invalid(`its events end at ${last.epoch}-${last.seq}`);
  if (!Number.isSafeInteger(batch.epoch) || batch.epoch < to.epoch)
    throw invalid(`epoch is ${batch.epoch}, which must not be lower than the epoch ${to.epoch} of to`);
  if (batch.header.epoch !== to.epoch || batch.header.seq !== to.seq)
    throw invalid(`its header is folded up to ${batch.header.epoch}-${batch.header.seq}`);
  const turning = batch.events.some(({ type }) => type === "turn.start" || type === "turn.end");
  const hasNewerEvents = batch.events.some(({ v }) => v > batch.v);
  return { from, to, spans, turning, hasNewerEvents };

  function invalid(why: string): StoreError {
    return new StoreError("INVALID", `archive batch from ${batch.from} to ${batch.to}: ${why}`);
  }

  function spanAfter(before: Position, event: { readonly id: string; readonly first?: number }): EventSpan {
    const position = parseCursor(event.id);
    if (position === null) throw invalid("an event has an id that is not a cursor");
    const first = event.first ?? position.seq;
    if (first !== before.seq + 1 || first > position.seq || position.epoch < before.epoch)
      throw invalid(`the event at ${event.id} doesn't follow ${before.epoch}-${before.seq}`);
    return { ...position, first };
  }
}

/** Some events of a batch, stored together: a row for each would cost more than their content. */
export interface EventRow {
  /** The seq of its last event. */
  readonly last: number;
  /** An array of events. */
  readonly json: string;
}

/** Rows of about this length are read and compressed as a whole. */
const MAX_ROW_CHARS = 32_768;

/** A row has no events of two turns, so that a turn is read without its neighbours. */
export function toEventRows(events: readonly SessionEvent[], spans: readonly EventSpan[]): EventRow[] {
  const rows: EventRow[] = [];
  let texts: string[] = [];
  let chars = 0;
  events.forEach((event, n) => {
    const text = JSON.stringify(event);
    texts.push(text);
    chars += text.length;
    const next = events[n + 1];
    if (next !== undefined && next.type !== "turn.start" && chars < MAX_ROW_CHARS) return;
    rows.push({ last: spans[n]?.seq ?? 0, json: `[${texts.join(",")}]` });
    [texts, chars] = [[], 0];
  });
  return rows;
}

/**
 * Returns the versions of a stored state from which version `v` continues exactly: it is then stored as `v`, and otherwise
 * as `-v`. 0 stands for no state.
 * @param hasNewerEvents true if it folds events of a newer version
 */
export function exactAfter(
  v: number,
  hasNewerEvents: boolean,
): { readonly min: number; readonly max: number } {
  return hasNewerEvents ? { min: 1, max: 0 } : { min: 1 - v, max: v };
}

/** @param stored the version of the state that this fold continues, or null for none */
export function nextFoldVersion(stored: FoldVersion | null, v: number, hasNewerEvents: boolean): FoldVersion {
  const { min, max } = exactAfter(v, hasNewerEvents);
  return (stored ?? 0) >= min && (stored ?? 0) <= max ? v : -v;
}

/** Returns false if the events must be folded again, because an older version folded newer events. */
export function isExactFor(stored: FoldVersion, reader = SCHEMA_VERSION): boolean {
  return stored > 0 || -stored >= reader;
}

/** Returns true if the turn has a request that is still open. */
export function hasPendingInteractions(turn: Turn): boolean {
  return listBlocks(turn).some((block) => "version" in block && outlivesTurn(block) && isPending(block));
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
