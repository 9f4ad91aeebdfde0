/**
 * `Log` is the port of the live log: one log per session, one entry per event, one order for all readers.
 * `redis/create-redis-log.ts` and `memory.ts` implement it, and one contract suite tests both. Does not fold or
 * archive.
 *
 * Invariant: every implementation gives these guarantees.
 * - An entry's position is `<epoch>-<seq>`. `seq` has no gaps and never restarts, not even in a new epoch.
 * - Entries are written once and never change. An acknowledged append stays in the log, in the order of the
 *   acknowledgments. Only a trim, an expiry, a removal or a loss in the engine ends this.
 * - Every log expires: `UNARCHIVED_TTL_MS` after its last claim, or earlier with `expire`.
 * - A command that arrives late, after its sender has given it up and gone on, changes nothing.
 * - A loss is never silent. A reader that continues from a lost position gets a reason. Appends are refused until a
 *   writer claims the log under a new epoch.
 */
import type { Cursor } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "../util/refs.ts";
import type { LogEntry } from "./entry.ts";
import type { LogError } from "./errors.ts";

export interface Log {
  /**
   * Takes over the log: writes the first entry of a new epoch and fences all earlier writers, in one atomic step.
   * Creates the log if it is missing, starting right after `archivedUpTo`.
   *
   * Refused with OUTBID unless the epoch is higher than every epoch that this log has seen.
   *
   * After UNAVAILABLE the claim may or may not have happened. A second call with `isRetry` returns the earlier position
   * if it happened. Otherwise it fails with OUTBID, because the archived position may be out of date by then.
   */
  claim(ref: SessionRef, claim: Claim): Promise<AppendResult>;

  /**
   * Appends a batch at consecutive positions: all of it or nothing.
   * - With an `epoch` the append is fenced: it fails with FENCED once another writer has claimed a higher epoch.
   *   Without one it joins the current epoch (messages, decisions, titles).
   * - It fails with UNCLAIMED if the log is missing, or if the engine is not the one on which the log was claimed.
   *   Entries may have been lost there, and the append would reuse positions.
   * - After UNAVAILABLE the append may or may not have happened, or may happen later. The same call with `isRetry` and
   *   the next `generation` returns the earlier positions if it happened, and appends the batch if not. From then on the
   *   earlier call can't happen any more.
   *
   * A writer must wait for the result of one append before it starts the next.
   */
  append(ref: SessionRef, batch: AppendBatch): Promise<AppendResult>;

  /** Returns at most `limit` entries right after a position, oldest first, or the reason why the cursor is invalid. */
  read(ref: SessionRef, range: ReadRange): Promise<ReadResult>;

  /**
   * Yields everything after a position: first the existing entries, then new ones, without gaps or duplicates, until
   * the signal is aborted. It ends by itself only with a reason. It buffers little for a slow reader and re-reads the
   * rest from the log.
   */
  attach(ref: SessionRef, options: AttachOptions): AsyncIterable<LogDelivery>;

  /**
   * Like `attach`, for a reader that never applies backpressure: calls `listener` once for all entries of one tick.
   * Cheaper for a process that follows many sessions. The promise resolves when the subscription ends, and rejects with
   * the error that the listener throws.
   */
  listen(ref: SessionRef, options: AttachOptions, listener: (delivery: LogDelivery) => void): Promise<void>;

  /** Returns the epoch and the bounds of the log, or null if there is no log. */
  head(ref: SessionRef): Promise<LogHead | null>;

  /** Drops the entries up to a position. That position stays a valid cursor. Returns false if it is not in the log. */
  trim(ref: SessionRef, upTo: Cursor): Promise<boolean>;

  /**
   * Expires the log after `afterMs` if `archived` is its last position. Any later claim or append cancels this: the log
   * then has the time to live of a new claim. Returns false if the log has more entries.
   */
  expire(ref: SessionRef, archived: Cursor, afterMs: number): Promise<boolean>;

  /** Deletes the log, also one that was set aside, and ends all its readers with `removed`. */
  remove(ref: SessionRef): Promise<void>;

  /**
   * Calls the listener once when a server stays unreachable or refuses writes for more than a moment, or deletes logs
   * when its memory is full. Calls it again only after the server was well in between. Also calls it once if a server
   * isn't durable or doesn't show whether it is (NOT_DURABLE). A log without servers never calls it.
   * @returns a function that removes the listener
   */
  onOutage?(listener: (error: LogError) => void): () => void;

  /** True if a server is unreachable, or refused a write of the last health check. A log without servers has none. */
  readonly isImpaired?: boolean;

  /**
   * Runs a script on the server that has the keys, for counters that all processes share. It fails at once without a
   * connection and never repeats the script. The keys get the prefix of the log and must have the same hash tag. Only a
   * log on Redis has it.
   * @throws LogError with UNAVAILABLE
   */
  evaluate?(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;

  close(): Promise<void>;
}

export interface Claim {
  readonly epoch: number;
  /** Identifies the writer within its epoch. No two claims of a session use the same id. */
  readonly writer: string;
  /** `session.start`, `turn.start` or `turn.takeover`: the events that start an epoch. */
  readonly event: EventDraft;
  /** The last archived position. A log that is missing, ends before it or starts after it restarts right after it. */
  readonly archivedUpTo: Cursor;
  /**
   * The last position that the claimer has read. The claim fails with MOVED unless its entry comes right after it. So a
   * takeover lists exactly the existing entries, although the previous writer may write until the last moment.
   */
  readonly last?: Cursor;
  /** Set when this claim may have happened already: the call then only looks for it. */
  readonly isRetry?: boolean;
}

export interface AppendBatch {
  readonly writer: string;
  /** Increases with every batch of the writer. */
  readonly counter: number;
  readonly events: readonly EventDraft[];
  /** The epoch that the writer has claimed. Absent for writers that join the current epoch. */
  readonly epoch?: number;
  /** Set when this batch may be in the log already: the log looks for it before it appends. */
  readonly isRetry?: boolean;
  /**
   * For a writer with an `epoch`: how many of its tries failed with UNAVAILABLE until now. The log accepts no lower
   * number after a higher one, so a try that arrives late changes nothing. @default 0
   */
  readonly generation?: number;
  /**
   * A position that was archived before the batch was first sent: the search stops there. Fails with UNSURE once it was
   * trimmed, and with UNCLAIMED if the log ends before it.
   */
  readonly since?: Cursor;
}

export interface AppendResult {
  readonly epoch: number;
  /** The seq of the first event of the batch. */
  readonly first: number;
  readonly last: number;
  /** True if the batch was in the log already. */
  readonly repeated: boolean;
  /**
   * For a claim that restarted a log with entries that are not archived: the key in Redis under which the old log stays
   * for seven days, at most one for each session.
   */
  readonly setAside?: string;
}

export interface ReadRange {
  readonly after: Cursor;
  readonly limit?: number;
}

export type ReadResult = LogPage | { readonly ok: false; readonly reason: InvalidCursorReason };

export interface LogPage {
  readonly ok: true;
  /** The newest epoch under which this log was claimed, read in the same atomic step as the entries. */
  readonly epoch: number;
  readonly entries: readonly LogEntry[];
  /** True if more entries follow these. */
  readonly more: boolean;
}

/**
 * Why a cursor is invalid:
 * - `malformed`: it is not a position;
 * - `trimmed`: it is older than the first entry of the log;
 * - `ahead`: it is after the end of the log;
 * - `lost`: it is not in this log, because its timeline was lost or it belongs to another session;
 * - `missing`: there is no log: it was wiped, has expired, or was never created.
 */
export type InvalidCursorReason = "malformed" | "trimmed" | "ahead" | "lost" | "missing";

export interface AttachOptions {
  readonly after: Cursor;
  /**
   * Returns the last archived position. It is a valid cursor even while there is no log, because the next claim
   * continues there. Called only if the log is missing, or ends before the reader's position.
   */
  readonly readFloor?: () => Promise<Cursor>;
  readonly signal?: AbortSignal;
}

export type LogDelivery =
  | { readonly type: "entries"; readonly entries: readonly LogEntry[] }
  /** The last delivery. The reader has to reload the state, unless the session was removed. */
  | { readonly type: "end"; readonly reason: FollowEndReason };

/** `removed`: the session was deleted. `unavailable`: the engine was unreachable for longer than the timeout. */
export type FollowEndReason = InvalidCursorReason | "removed" | "unavailable";

export interface LogHead {
  readonly epoch: number;
  readonly last: Cursor;
  /** The position right before the first entry that is still in the log. */
  readonly base: Cursor;
}
