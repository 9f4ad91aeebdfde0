/**
 * `Archive`, `Outbox` and `Turns` are the sub-ports of the archive, of events that must still reach the log, and of
 * archived turns.
 *
 * Invariant: only `archive.write` changes the archive, in one commit, from the current archived position and under the
 * newest epoch. An outbox row is added in the transaction of its change. Its event is appended once, in the order of
 * the rows.
 */
import type {
  Cursor,
  SessionEvent,
  SessionState,
  Snapshot,
  TurnSnapshot,
  TurnStatus,
  UserMessage,
} from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "../../util/refs.ts";
import type { NewJournalEntry } from "./running.ts";

/** A folded session without its turns. */
export type SessionHeader = Omit<SessionState, "turns">;

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
  /** True if the turn has an open form or payment. */
  readonly open: boolean;
  /** The message that it answers. Its event is before those of the turn. */
  readonly message: UserMessage | null;
  /** The whole turn, if it has ended and a form or payment is open or changed later. Otherwise null. */
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
 * The sub-port of the archive: the header of the folded session and the coalesced events it came from. The archiver
 * supplies both, and each write keeps them in step. Turns are folded from their events when they are read. Does not read
 * the log.
 */
export interface Archive {
  /** @throws StoreError with NOT_FOUND if the session does not exist. */
  header(ref: SessionRef): Promise<ArchivedHeader>;
  /**
   * Returns the newest `turns` turns and every older one with an open form or payment, all read at the same moment.
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

export interface NewOutboxRow {
  /** Unique in the session. The append to the log carries it, so that a repeat is detected. */
  readonly key: string;
  readonly draft: EventDraft;
  /** A position of the log before the row was added, if known. A search for a repeat stops there. */
  readonly since?: Cursor;
  /**
   * How long relays leave the row to the turn that starts next: it archives the entry anyway, which marks the row. Ignored
   * while a turn runs, because that one may take long.
   * @default 0
   */
  readonly relayAfterMs?: number;
}

export interface OutboxRow extends SessionRef {
  readonly id: number;
  readonly key: string;
  readonly draft: EventDraft;
  /** The row's entry can only be after this position: the given one, or the archived one when the row was added. */
  readonly since: Cursor;
  /** How many deliveries have failed. */
  readonly attempts: number;
  readonly createdAt: number;
}

export interface TakeQuery {
  /** Maximum number of sessions. */
  readonly limit: number;
  /** Ignores younger rows, which their writers deliver. */
  readonly olderThanMs: number;
  /** How long other relays leave these sessions to the caller. */
  readonly leaseMs: number;
}

/**
 * The sub-port of the outbox: committed events that must still reach the log. A row is added in the transaction that
 * makes it true. Afterwards its writer, or a relay if the writer died, appends it to the log.
 *
 *   added ──▶ delivered ──▶ archived ──▶ pruned
 *     ▲           │  its entry was lost with the log
 *     └───────────┘
 *
 * No lock is taken while appending, so two processes may deliver the same row: appends under one key happen once.
 *
 * Invariant: archiving marks the rows whose entries it has seen, in its own commit, and only archived entries are
 * trimmed. So a repeat is detected even after a trim.
 */
export interface Outbox {
  /**
   * Adds a row. Returns "already" and changes nothing if the session has a row with this key. Rows of a session are
   * numbered in the order in which their transactions commit.
   * @throws StoreError with NOT_FOUND if the session does not exist, with INVALID or TOO_LARGE for a row that no log
   *   would accept.
   */
  add(ref: SessionRef, row: NewOutboxRow): Promise<"added" | "already">;
  /** Returns the undelivered rows of a session in order. They must be delivered in this order. */
  undelivered(ref: SessionRef, limit: number): Promise<OutboxRow[]>;
  /** Returns true if the row still has to be delivered, and false if it is delivered, archived or deleted. */
  isUndelivered(ref: SessionRef, key: string): Promise<boolean>;
  /** Leases sessions with due rows, each to one relay at a time. */
  take(query: TakeQuery): Promise<SessionRef[]>;
  /**
   * Leases sessions with rows that were delivered at least `olderThanMs` ago and are not archived. A session may be
   * returned although another process just archived it.
   */
  takeUnarchived(query: TakeQuery): Promise<SessionRef[]>;
  /** Records that the row's event is in the log. Returns false if the row is already marked or missing. */
  delivered(ref: SessionRef, key: string, cursor: Cursor): Promise<boolean>;
  /** Delays the session's rows after a failed delivery, longer each time. */
  postpone(ref: SessionRef): Promise<void>;
  /**
   * Marks rows as undelivered that were delivered but not archived, because the log may have lost their entries. Always
   * safe: a second delivery changes nothing if the entry exists.
   * @returns how many
   */
  reopen(ref: SessionRef): Promise<number>;
  /** Returns undelivered rows of all sessions that a relay would deliver, in the order of their ids, for operators. */
  pending(query: { readonly limit: number; readonly olderThanMs: number }): Promise<OutboxRow[]>;
  /**
   * Deletes rows that were archived that long ago, at most `limit`. Their keys count as new afterwards.
   * @returns how many
   */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/** How long a row waits after its n-th failure: 250 ms, doubling up to one minute. */
export function backoffMs(attempts: number): number {
  return Math.min(60_000, 250 * 2 ** Math.min(attempts - 1, 20));
}

/** An archived turn, as it was at the archived position. Only `archive.write` writes it. */
export interface TurnRecord extends Omit<ArchivedTurn, "message" | "snapshot"> {
  readonly snapshot: TurnSnapshot;
  readonly v: FoldVersion;
}

/** The sub-port that reads archived turns. */
export interface Turns {
  /** Returns null if no such turn is archived. */
  get(ref: SessionRef, id: string): Promise<TurnRecord | null>;
  /** Returns turns, newest first. `before` is the `start` of the last turn of the previous page. */
  list(ref: SessionRef, page: { readonly limit: number; readonly before?: number }): Promise<TurnRecord[]>;
  /** Returns turns with an open form or payment, oldest first, at most 1,000. */
  open(ref: SessionRef): Promise<TurnRecord[]>;
}
