/**
 * The sub-port of the archive: what the log amounted to, and the coalesced events it came from.
 * Never reads the log and never folds: the archiver brings both forms, this keeps them in step.
 */
import type { Cursor, Event, SessionState, Snapshot, TurnSnapshot } from "@turnstream/protocol";
import type { Ref } from "../refs.ts";

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
  readonly events: readonly Event[];
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
  header(ref: Ref): Promise<ArchivedHeader>;
  /**
   * The newest `turns` turns, and every older one with an open form or payment, all as of one moment.
   * Throws NOT_FOUND.
   */
  window(ref: Ref, turns: number): Promise<ArchivedWindow>;
  /** The state right before the newest turn that is archived began; null when none was kept. Throws NOT_FOUND. */
  checkpoint(ref: Ref): Promise<Snapshot | null>;
  /**
   * Writes all of the batch and moves the archived position from `from` to `to` in one commit, or does nothing.
   * The log that it was read from must have been claimed under the newest epoch that was given out: only who has read it
   * after that claim knows that it is the one that goes on. Of several writers with the same `from` one has "written". A batch with holes throws INVALID.
   */
  write(ref: Ref, batch: ArchiveBatch): Promise<ArchiveResult>;
  /**
   * Ascending, those that end after the seq `after`. When `after` lies within a merged event, that one comes
   * first, whole.
   */
  events(ref: Ref, page: { readonly after: number; readonly limit: number }): Promise<Event[]>;
}
