/**
 * The port of the live log: one log per session, one entry per event, one order for everybody.
 * `redis.ts` and `memory.ts` keep it; one contract suite holds both to it. Never folds, archives or decides.
 *
 * The guarantees:
 * - An entry's position is `<epoch>-<seq>`. `seq` is dense. It never starts again, also not with a new epoch.
 * - Entries are written once and never changed. What `append` has answered for is in the log, in the order of
 *   the answers, until it is trimmed or the engine loses it.
 * - A loss is never silent: who reads on from a position that is no longer in the log is told so, and nobody
 *   can append until somebody has claimed the log under a new epoch.
 */
import type { Cursor } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { LogEntry } from "./entry.ts";
import type { LogError } from "./errors.ts";

export interface Log {
  /**
   * Takes the log over: writes the first entry of a new epoch, and fences every writer before it, in one step.
   * Makes the log when there is none, beginning right after `floor`.
   * Refused with OUTBID unless the epoch is higher than every epoch that this log has seen.
   * After UNAVAILABLE nobody knows whether it happened. Sent again with `repeat` it answers with the earlier
   * position if it had, and is OUTBID if it hadn't: by then the floor may be out of date.
   */
  claim(session: string, claim: Claim): Promise<AppendResult>;

  /**
   * Adds a batch: all of it or nothing, at adjoining positions.
   * - With an `epoch` it is fenced: refused with FENCED once another writer has claimed a higher one.
   *   Without one it joins whatever epoch there is (messages, decisions, titles).
   * - Refused with UNCLAIMED when the log is missing, or the engine behind it is not the one that it was claimed
   *   on: entries may have been lost, and positions given out already would be used again.
   * - After UNAVAILABLE nobody knows whether it happened. Sent again as it was, with `repeat`, it answers with
   *   the earlier positions if it had, and happens now if it hadn't.
   * One append at a time per writer: the next one only after an answer.
   */
  append(session: string, batch: AppendBatch): Promise<AppendResult>;

  /** The entries right after a position, oldest first, at most `limit`; or what is wrong with the position. */
  read(session: string, range: ReadRange): Promise<ReadResult>;

  /**
   * Everything after a position, first what is there, then what comes, without gap and without overlap, until
   * the signal says enough. It ends by itself only with a reason. Holds little for a reader who is slow: what
   * that one can't take is read again from the log.
   */
  attach(session: string, options: AttachOptions): AsyncIterable<LogDelivery>;

  /**
   * The same for a reader that takes everything at once: it is called back, once for all that came in one tick. Cheaper,
   * for who follows many sessions. Fulfilled when it is over; fails with what the listener throws.
   */
  listen(session: string, options: AttachOptions, listener: (delivery: LogDelivery) => void): Promise<void>;

  /** Where the log stands, or null when there is none. */
  head(session: string): Promise<LogHead | null>;

  /** Drops the entries up to a position, which stays a good cursor. False when it is not in the log. */
  trim(session: string, upTo: Cursor): Promise<boolean>;

  /**
   * Lets the log go after a while, if `archived` is its last position: what is not archived never expires, for
   * any later claim or append keeps the log. False when there is more in it.
   */
  expire(session: string, archived: Cursor, afterMs: number): Promise<boolean>;

  /** Deletes the log and tells everybody who is attached. */
  remove(session: string): Promise<void>;

  /**
   * Told once when a server can't be reached for more than a moment, and again only after it was there in between. Never
   * for a log without servers. @returns ends it
   */
  onOutage?(listener: (error: LogError) => void): () => void;

  close(): Promise<void>;
}

export interface Claim {
  readonly epoch: number;
  /** Names the writer for its reign; no two claims of a session have the same one. */
  readonly writer: string;
  /** `session.start`, `turn.start` or `turn.takeover`: the events that begin an epoch. */
  readonly event: EventDraft;
  /** What is archived: a log that is missing, or ends before it, begins anew right after it. */
  readonly archivedUpTo: Cursor;
  /**
   * What the claimer has read and builds on: refused with MOVED unless the new entry comes right after it. So a takeover
   * names exactly what is there, although the writer before may write until the last moment.
   */
  readonly last?: Cursor;
  /** This claim may have happened already: only look. */
  readonly isRetry?: boolean;
}

export interface AppendBatch {
  readonly writer: string;
  /** Rises with every batch of the writer. */
  readonly counter: number;
  readonly events: readonly EventDraft[];
  /** The epoch that the writer has claimed; absent for writers that share whatever epoch there is. */
  readonly epoch?: number;
  /** This batch may be in the log already: look back before adding it. */
  readonly isRetry?: boolean;
  /** A position read before the batch was first sent: looking back ends there. Refused with UNSURE once trimmed. */
  readonly since?: Cursor;
}

export interface AppendResult {
  readonly epoch: number;
  /** The seq of the first event of the batch, and of the last. */
  readonly first: number;
  readonly last: number;
  /** It was in the log already. */
  readonly repeated: boolean;
}

export interface ReadRange {
  readonly after: Cursor;
  readonly limit?: number;
}

export type ReadResult = LogPage | InvalidCursor;

export interface LogPage {
  readonly ok: true;
  /** The newest under which this log was claimed, as of the moment in which these were read. */
  readonly epoch: number;
  readonly entries: readonly LogEntry[];
  /** There is more right after these. */
  readonly more: boolean;
}

export interface InvalidCursor {
  readonly ok: false;
  readonly reason: InvalidCursorReason;
}

/**
 * - `malformed`: not a position at all;
 * - `trimmed`: older than what the log still holds;
 * - `ahead`: after the log's end;
 * - `lost`: not in this log: of a timeline that was lost, or of another session;
 * - `missing`: there is no log: wiped, expired, or not begun.
 */
export type InvalidCursorReason = "malformed" | "trimmed" | "ahead" | "lost" | "missing";

export interface AttachOptions {
  readonly after: Cursor;
  /** What is archived: a good position even while there is no log. */
  readonly floor?: Cursor;
  readonly signal?: AbortSignal;
}

export type LogDelivery =
  | { readonly type: "entries"; readonly entries: readonly LogEntry[] }
  /** The last delivery. The reader has to load the state anew, unless the session is gone. */
  | { readonly type: "end"; readonly reason: FollowEndReason };

/** `removed`: the session was deleted. `unavailable`: the engine could not be reached for too long. */
export type FollowEndReason = InvalidCursorReason | "removed" | "unavailable";

export interface LogHead {
  readonly epoch: number;
  /** The last position. */
  readonly last: Cursor;
  /** The position right before the first entry that is still there. */
  readonly base: Cursor;
}
