/**
 * The sub-port of the archive: what the log amounted to, and the coalesced events it came from.
 * Never reads the log and never folds: the archiver brings both forms, this keeps them in step.
 */
import type {
  Cursor,
  SessionEvent,
  SessionState,
  Snapshot,
  TurnSnapshot,
  TurnStatus,
} from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "../refs.ts";

/** A folded session without its turns. */
export type SessionHeader = Omit<SessionState, "turns">;

export interface ArchivedHeader {
  readonly archived: Cursor;
  /** As of `archived`; null when nothing is archived yet. */
  readonly header: SessionHeader | null;
  /** The schema version that header and turns were folded with. */
  readonly v: number | null;
}

export interface ArchivedWindow extends ArchivedHeader {
  /** Ascending by start. */
  readonly turns: readonly TurnSnapshot[];
  /** How many of the session's turns are not among them. */
  readonly earlier: number;
}

export interface ArchivedTurn {
  readonly snapshot: TurnSnapshot;
  /** Whether a form or payment in it is still open. */
  readonly open: boolean;
}

export interface ArchiveBatch {
  /** What was archived before, and what will be. */
  readonly from: Cursor;
  readonly to: Cursor;
  /** The newest epoch of the log that these were read from, as of the moment in which they were read. */
  readonly epoch: number;
  /** Coalesced, ascending, without holes: they cover exactly what lies between. */
  readonly events: readonly SessionEvent[];
  /** The turns that changed. */
  readonly turns: readonly ArchivedTurn[];
  /** Folded up to `to`. */
  readonly header: SessionHeader;
  readonly v: number;
  /**
   * The state right before the last `turn.start` among the events, as far as folding on needs it; absent when there is no
   * such event, and what was kept before stays.
   */
  readonly checkpoint?: Snapshot;
  /** Keys of outbox rows whose events are among these. */
  readonly delivered?: readonly string[];
}

/**
 * - "already": a repeat, nothing changed;
 * - a conflict names the position to go on from;
 * - behind: a higher epoch was given out than the log had, so that these events may be of a timeline that is being lost.
 */
export type ArchiveResult =
  | "written"
  | "already"
  | { readonly conflict: Cursor }
  | { readonly behind: number };

export interface Archive {
  /** Throws NOT_FOUND. */
  header(ref: SessionRef): Promise<ArchivedHeader>;
  /**
   * The newest `turns` turns, and every older one with an open form or payment, all as of one moment.
   * Throws NOT_FOUND.
   */
  window(ref: SessionRef, turns: number): Promise<ArchivedWindow>;
  /** The state right before the newest turn that is archived began; null when none was kept. Throws NOT_FOUND. */
  checkpoint(ref: SessionRef): Promise<Snapshot | null>;
  /**
   * Writes all of the batch and moves the archived position from `from` to `to` in one commit, or does nothing.
   * The log that it was read from must have been claimed under the newest epoch that was given out: only who has read it
   * after that claim knows that it is the one that goes on. Of several writers with the same `from` one has "written". A batch with holes throws INVALID.
   */
  write(ref: SessionRef, batch: ArchiveBatch): Promise<ArchiveResult>;
  /**
   * Ascending, those that end after the seq `after`. When `after` lies within a merged event, that one comes
   * first, whole.
   */
  events(ref: SessionRef, page: { readonly after: number; readonly limit: number }): Promise<SessionEvent[]>;
}

/**
 * The sub-port of the outbox: events that were committed and have still to reach the log. A row is added in
 * the transaction that makes it true; its writer, or a relay if that died, brings it to the log afterwards.
 * Never appends anything itself.
 *
 *   added ──▶ delivered ──▶ archived ──▶ pruned
 *     ▲           │  its entry was lost with the log
 *     └───────────┘
 *
 * Nobody holds a lock while appending, so two may bring the same row: appends under one key happen once. What
 * makes that exact over trimming: archiving marks the rows whose entries it has seen, in its own commit, and only
 * what is archived is trimmed.
 */
export interface NewOutboxRow {
  /** Unique in the session; the append to the log carries it, so that a repeat is noticed. */
  readonly key: string;
  readonly draft: EventDraft;
  /** Where the log stood before, if known: whoever looks for a repeat need not look further back. */
  readonly since?: Cursor;
}

export interface OutboxRow extends SessionRef {
  readonly id: number;
  readonly key: string;
  readonly draft: EventDraft;
  /** Its entry can only be after this: what was given, or what was archived when the row was added. */
  readonly since: Cursor;
  /** How often delivering it has failed. */
  readonly attempts: number;
  readonly createdAt: number;
}

export interface TakeQuery {
  /** How many sessions. */
  readonly limit: number;
  /** Leaves younger rows to their writers. */
  readonly olderThanMs: number;
  /** For how long other relays leave these sessions to the caller. */
  readonly leaseMs: number;
}

export interface Outbox {
  /**
   * "already" when the session has a row with this key: nothing changes. Rows of a session are numbered in the
   * order in which their transactions commit. Throws NOT_FOUND without the session, and INVALID or TOO_LARGE for
   * what no log would take.
   */
  add(ref: SessionRef, row: NewOutboxRow): Promise<"added" | "already">;
  /** The undelivered rows of a session, in order. Whoever brings them keeps to it. */
  undelivered(ref: SessionRef, limit: number): Promise<OutboxRow[]>;
  /** Whether a row has still to be delivered. False when it is delivered, archived or gone. */
  isUndelivered(ref: SessionRef, key: string): Promise<boolean>;
  /** Sessions with rows that are due, each for one relay at a time. */
  take(query: TakeQuery): Promise<SessionRef[]>;
  /** Its event is in the log. False when the row is marked or absent. */
  delivered(ref: SessionRef, key: string, cursor: Cursor): Promise<boolean>;
  /** The session's rows could not be delivered: they wait, longer each time. */
  postpone(ref: SessionRef): Promise<void>;
  /**
   * The log may have lost entries that are not archived: rows that were delivered, but not archived, have to be
   * looked at again. Always safe, for bringing them again changes nothing if they are there. @returns how many
   */
  reopen(ref: SessionRef): Promise<number>;
  /** Undelivered rows of all sessions in the order of their ids, for people who look. */
  pending(query: { readonly limit: number; readonly olderThanMs: number }): Promise<OutboxRow[]>;
  /** Deletes rows archived that long ago, at most `limit`; their keys count as new then. @returns how many */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/** How long a row waits after its n-th failure: doubling from 250 ms to a minute. */
export function backoffMs(attempts: number): number {
  return Math.min(60_000, 250 * 2 ** Math.min(attempts - 1, 20));
}

/** The sub-port that reads archived turns. They are written by `archive.write`, and nowhere else. */
export interface TurnRecord {
  readonly id: string;
  /** The seq of its start, and of its end; null while it ran at the archived position. */
  readonly start: number;
  readonly end: number | null;
  readonly status: TurnStatus;
  /** Whether a form or payment in it is still open. */
  readonly open: boolean;
  readonly snapshot: TurnSnapshot;
}

export interface Turns {
  /** Null when no such turn is archived. */
  get(ref: SessionRef, id: string): Promise<TurnRecord | null>;
  /** The newest first; `before` is the `start` of the last one of the page before. */
  list(ref: SessionRef, page: { readonly limit: number; readonly before?: number }): Promise<TurnRecord[]>;
  /** Those with an open form or payment, the oldest first, at most 1,000. */
  open(ref: SessionRef): Promise<TurnRecord[]>;
}
