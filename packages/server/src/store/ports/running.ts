/**
 * `RunningTurns`, `Journal`, `Leases` and `QueuedMessages` are the sub-ports for running turns. `checkMessage` and
 * `queuedMessageBody` prepare a message for both stores. None of them runs a turn.
 *
 * Invariant: a session has at most one running turn, and each message is taken once. A journal write fails with FENCED
 * under an older epoch, so a superseded worker can't add entries. The store's clock decides about leases, and one
 * process takes over a dead executor.
 */
import type { Json, UserMessage } from "@turnstream/protocol";
import type { SessionRef } from "../../util/refs.ts";
import { checkId } from "../rules/arguments.ts";
import type { ByUseScope, UsageLimits } from "../rules/limits.ts";

/** The request that started a turn, for its limits. */
export interface TurnCaller {
  /** The id of the API key behind the request; null if there is none. */
  readonly apiKey: string | null;
  /** The limits that each model call of the turn compares. Null for no limits. */
  readonly usageLimits: ByUseScope<UsageLimits> | null;
}

export interface RunningTurn extends SessionRef, TurnCaller {
  readonly turn: string;
  /** The owner of the session. */
  readonly user: string;
  /** The message that the turn answers, or null if it retries an earlier turn. */
  readonly message: UserMessage | null;
  /** The turn that it retries, or null. */
  readonly retries: string | null;
  /** What the message or the retry requests besides its text, such as an agent. Null for nothing. */
  readonly options: Json;
  readonly startedAt: number;
  /** How many attempts were started. */
  readonly attempts: number;
  /**
   * How many of the latest consecutive attempts wrote nothing to the journal. Includes the current one and excludes
   * forgiven ones.
   */
  readonly attemptsWithoutProgress: number;
  /** How many processes have died while they ran this turn. */
  readonly deaths: number;
  /** The first request to stop this turn, or null. */
  readonly stop: { readonly by: string | null; readonly at: number } | null;
}

/**
 * - "stopping": the stop was recorded now. "already": it was requested before. Both confirm the stop.
 * - "over": that turn isn't running.
 */
export type StopReceipt = "stopping" | "already" | "over";

/**
 * The sub-port that reads running turns and asks them to stop. `TurnQueue` starts and ends them. At most one per session,
 * from taking its message until its end is in the log.
 */
export interface RunningTurns {
  get(ref: SessionRef): Promise<RunningTurn | null>;
  /**
   * Excludes an attempt from `attemptsWithoutProgress`, because its process handed it over in good order. Does nothing
   * once another attempt has started.
   */
  forgive(ref: SessionRef, attempt: { readonly turn: string; readonly attempts: number }): Promise<void>;
  /** Requests a stop of a turn, or of the running turn if `turn` is absent. */
  requestStop(
    ref: SessionRef,
    stop: { readonly turn?: string; readonly by?: string },
  ): Promise<{ readonly receipt: StopReceipt; readonly turn: string | null }>;
  /** Returns turns with a stop request, oldest request first. */
  stopping(query: { readonly limit: number }): Promise<RunningTurn[]>;
  /**
   * Returns the running turns of at most 1,000 sessions whose process has left them or has lost its lease, by the store's
   * clock. Another worker will continue them. In no order.
   */
  interrupted(sessions: readonly SessionRef[]): Promise<(SessionRef & { readonly turn: string })[]>;
  /** Returns sessions whose next message has been queued that long without a turn, in the order of the queue. */
  startable(query: { readonly olderThanMs: number; readonly limit: number }): Promise<SessionRef[]>;
}

/** One result of a running turn. */
export interface JournalEntry {
  readonly key: string;
  readonly value: Json;
}

export interface NewJournalEntry extends JournalEntry {
  readonly turn: string;
  /** The epoch that the writer has claimed. */
  readonly epoch: number;
  /** The process of the writer. It must run the turn, under this epoch. @default any, under this epoch or a lower one */
  readonly executor?: string;
  /** Keys of entries that the writer knows: a store that has lost one refuses the write. @default none */
  readonly after?: readonly string[];
  /**
   * True if the entry outlives the turn and stays as long as the session. Later turns use it to describe this turn to
   * the model.
   */
  readonly isRetained?: boolean;
  /** Tokens and cost that the entry adds to those of the running turn, if it is written now. @default none */
  readonly used?: { readonly tokens: number; readonly cost: number };
}

/**
 * The sub-port of the journal: what a running turn has done, by key and not by order. So parallel branches find their
 * own results again, however they interleave.
 *
 * Invariant: entries are written under the session's epoch and by the process that runs the turn, so a superseded worker
 * can't add any. They follow entries that the writer knows, so a store that has lost commits gets no journal with a gap.
 * Writes join a transaction, so that a step and the archive of its events are committed together.
 */
export interface Journal {
  /**
   * Writes entries of one turn under one epoch, in one commit. Returns "already" if the turn has all of these keys; the
   * first value of a key stays. The session's epoch can't change until the transaction ends.
   * @throws StoreError with FENCED if a higher epoch was issued since, even for an existing key, if the writer's process no
   *   longer runs the turn, or if an entry that the writer knows is missing; with NOT_FOUND if the session does not exist.
   */
  write(ref: SessionRef, ...entries: readonly NewJournalEntry[]): Promise<"written" | "already">;
  /** Returns all entries of a turn, in the order of writing. */
  read(ref: SessionRef, turn: string): Promise<JournalEntry[]>;
  /** Returns the retained entries of these turns, in the order of writing. At most 1,000 turns. */
  retained(ref: SessionRef, turns: readonly string[]): Promise<(JournalEntry & { readonly turn: string })[]>;
  /**
   * Deletes the entries of an ended turn, except the retained ones.
   * @param shortened new values of retained entries, for example references to what the archive has
   * @returns how many it deleted
   */
  close(ref: SessionRef, turn: string, shortened?: readonly JournalEntry[]): Promise<number>;
}

/**
 * The sub-port of executor leases: which worker processes are alive, by the store's clock and not by theirs. It only
 * decides which process may take over a dead one; it does not move work.
 */
export interface Leases {
  /**
   * Starts or extends the executor's lease. Returns false if another process has taken it over: restart with a new id.
   */
  take(executor: string, ttlMs: number): Promise<boolean>;
  /**
   * Extends the lease, even if it has expired. Returns false if it was taken over or released: stop working.
   * @param options.reachesLog whether the executor can reach the log now. Default: true
   */
  renew(executor: string, ttlMs: number, options?: { readonly reachesLog?: boolean }): Promise<boolean>;
  /** Returns the time of the store's clock, which leases and turns follow, in milliseconds since 1970. */
  clock(): Promise<number>;
  /** Returns true if another live executor renewed its lease within this time and could reach the log then. */
  otherReachesLog(executor: string, withinMs: number): Promise<boolean>;
  /**
   * Lets other processes that also hold a lock notice the death of this one within seconds, where the store can detect it. From
   * then on, renew the lease every second. Call it after `take`, and again at times: it does nothing while it holds.
   * Returns false if only the lease's time counts.
   */
  hold(executor: string): Promise<boolean>;
  /** Returns executors whose lease has expired and that no live process has taken over, the longest expired first. */
  expired(limit: number): Promise<string[]>;
  /**
   * Returns whether a worker is alive, and whether a lease has expired, taken over or not: then some turns may be
   * interrupted.
   */
  status(): Promise<{ readonly anyLive: boolean; readonly anyExpired: boolean }>;
  /**
   * Takes over an executor from `expired`. Of several callers one gets true, and gets it again on a repeat. It calls
   * `release(executor, by)` after it has moved the work. If it dies before that, the executor is in `expired` again.
   */
  takeDead(executor: string, by: string): Promise<boolean>;
  /**
   * Ends the lease of an executor that has no turns. The caller is the executor itself (`by` is `executor`), or the process
   * that took it over and has moved its work (`by`). Returns false and changes nothing if `by` does not have the lease, or
   * the executor still has turns. So an executor that was taken over and resumes can't end its successor's lease.
   * `queue.leave` ends a lease with turns.
   */
  release(executor: string, by: string): Promise<boolean>;
}

/** The stored fields of a message, except id, sender and time. */
export type QueuedMessageBody = Omit<UserMessage, "id" | "by" | "at">;
export type NewMessage = Pick<UserMessage, "id" | "text"> &
  Partial<Omit<UserMessage, "at">> &
  Partial<TurnCaller> & {
    /** For the worker that starts the turn, such as the requested agent. Not shown to users. */
    readonly options?: Json;
  };

/**
 * The sub-port of user messages that wait for a turn. Methods that change something throw NOT_FOUND if the session does
 * not exist. Does not start turns.
 */
export interface QueuedMessages {
  /**
   * Adds a message. Returns "already" if the session has or had this id, queued or not. So a repeat changes nothing and
   * never queues a message again that was taken.
   */
  add(ref: SessionRef, message: NewMessage): Promise<"added" | "already">;
  /** Returns false if the message is not queued. */
  remove(ref: SessionRef, id: string): Promise<boolean>;
  /** Returns the next messages in the order of arrival, at most 1,000. */
  list(ref: SessionRef): Promise<UserMessage[]>;
  /**
   * Forgets messages that were added that long ago and are no longer queued, at most `limit`. Their ids count as new
   * afterwards.
   * @returns how many
   */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/** Adds the defaults of optional fields. */
export function queuedMessageBody(message: NewMessage): QueuedMessageBody {
  const { text, files = [], whole = null, resumes = null } = message;
  return { text, files, whole, resumes };
}

export function checkMessage({ id, by = null }: NewMessage): {
  readonly id: string;
  readonly by: string | null;
} {
  return { id: checkId(id, "message id"), by: by === null ? null : checkId(by, "message by") };
}
