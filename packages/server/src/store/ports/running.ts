/**
 * The sub-port of turns that run: at most one per session, from the moment its message is taken until its end is
 * told. It is what a worker that finds a turn again goes on from, and where a stop waits for it. Never runs anything.
 */
import type { Json, UserMessage } from "@turnstream/protocol";
import type { SessionRef } from "../refs.ts";
import { checkId } from "../rules/arguments.ts";

export interface RunningTurn extends SessionRef {
  readonly turn: string;
  /** Whose session it is. */
  readonly user: string;
  /** The message that it answers; null when it tries an earlier turn again. */
  readonly message: UserMessage | null;
  /** The turn that it tries again, if it does. */
  readonly retries: string | null;
  /** What the message (or the retry) asked for beside its text, such as which agent; null when nothing. */
  readonly options: Json;
  readonly startedAt: number;
  /** How often a worker has set about it. */
  readonly attempts: number;
  /** How many of the last attempts in a row journaled nothing, this one included and those forgiven left out. */
  readonly attemptsWithoutProgress: number;
  /** Somebody wants it stopped; the first who asked. */
  readonly stop: { readonly by: string | null; readonly at: number } | null;
}

export interface NewTurn {
  readonly turn: string;
  /** Try this turn again, instead of taking a waiting message. */
  readonly retries?: string;
  /** With `retries`: see RunningTurn. A message brings its own. */
  readonly options?: Json;
}

/**
 * - "stopping": noted now; "already": somebody had asked before. Either is the receipt.
 * - "over": that turn isn't running (any more).
 */
export type StopReceipt = "stopping" | "already" | "over";

export interface RunningTurns {
  /**
   * Takes the oldest waiting message and makes its turn the running one, in one step. Null when a turn runs already
   * or nothing waits. Throws NOT_FOUND without the session.
   */
  begin(ref: SessionRef, turn: NewTurn): Promise<RunningTurn | null>;
  get(ref: SessionRef): Promise<RunningTurn | null>;
  /** Counts another attempt. @returns the turn with it counted, or null when it isn't running (any more). */
  attempt(ref: SessionRef, turn: string): Promise<RunningTurn | null>;
  /**
   * The attempt of that number was handed over in good order, and is no sign that the turn can't go on. Does nothing once
   * there was another.
   */
  forgive(ref: SessionRef, attempt: { readonly turn: string; readonly attempts: number }): Promise<void>;
  /** Without `turn`: whichever runs. */
  requestStop(
    ref: SessionRef,
    stop: { readonly turn?: string; readonly by?: string },
  ): Promise<{ readonly receipt: StopReceipt; readonly turn: string | null }>;
  /** Those that somebody wants stopped, the longest asked for first. */
  stopping(query: { readonly limit: number }): Promise<RunningTurn[]>;
  /** The turn is over and told. False when it isn't running. */
  end(ref: SessionRef, turn: string): Promise<boolean>;
  /** Begun that long ago and never attempted: whoever began them died. The oldest first. */
  unattempted(query: { readonly olderThanMs: number; readonly limit: number }): Promise<RunningTurn[]>;
  /** Sessions in which a message has waited that long and no turn runs. The longest waiting first. */
  startable(query: { readonly olderThanMs: number; readonly limit: number }): Promise<SessionRef[]>;
}

/**
 * The sub-port of the journal: what a running turn has done, by key and not by order, so that parallel branches find
 * their own results again however they interleave. Written under the session's epoch: a worker that was superseded
 * can't add to it. Joins a transaction, so that a step and the archive of its events are committed together.
 */
export interface JournalEntry {
  readonly key: string;
  readonly value: Json;
}

export interface NewJournalEntry extends JournalEntry {
  readonly turn: string;
  /** The epoch that the writer has claimed. */
  readonly epoch: number;
  /** Stays when the turn is over, as long as the session: what later turns tell the model of this one. */
  readonly isRetained?: boolean;
}

export interface Journal {
  /**
   * "already" when the turn has this key: the first value stays. Throws FENCED when a higher epoch was given out
   * since, also for a key that is there; NOT_FOUND without the session. The session's epoch can't change until the
   * transaction is over.
   */
  write(ref: SessionRef, entry: NewJournalEntry): Promise<"written" | "already">;
  /** All of a turn, in the order written. */
  read(ref: SessionRef, turn: string): Promise<JournalEntry[]>;
  /** What was kept of these turns, in the order written. At most 1,000 turns. */
  retained(ref: SessionRef, turns: readonly string[]): Promise<(JournalEntry & { readonly turn: string })[]>;
  /** The turn is over: drops what isn't kept. @returns how many */
  close(ref: SessionRef, turn: string): Promise<number>;
}

/**
 * The sub-port of executor leases: which worker processes are alive, by the store's clock and not by theirs.
 * Never moves the work of a dead one; it only says who may.
 */
export interface Leases {
  /** Begins or extends the executor's lease. False when another has taken it over: start anew with a new id. */
  take(executor: string, ttlMs: number): Promise<boolean>;
  /** Extends it. False when it was taken over or released: stop working. */
  renew(executor: string, ttlMs: number): Promise<boolean>;
  /** Executors whose lease ran out and whose work nobody alive has taken, the longest dead first. */
  expired(limit: number): Promise<string[]>;
  /**
   * Takes over an executor from `expired`. Of several that try, one gets true, and gets it again when it asks again. It calls `release(executor, by)` when
   * the work is moved; if it dies before that, the executor is in `expired` again.
   */
  takeDead(executor: string, by: string): Promise<boolean>;
  /** Which of these have no lease at all: nobody looks after what they may have left. At most 1,000. */
  unknown(executors: readonly string[]): Promise<string[]>;
  /** The executor ends and leaves its work to others: it is in `expired` at once. False when it isn't its own (any more). */
  leave(executor: string): Promise<boolean>;
  /**
   * Ends the lease: the executor itself (`by` is `executor`) left in good order, or who took it over (`by`) has moved
   * its work. False, and nothing changes, when the lease isn't theirs (any more): a taken-over executor that wakes up
   * can't end what its successor is at.
   */
  release(executor: string, by: string): Promise<boolean>;
}

/**
 * The sub-port of user messages that wait for a turn. What changes something throws NOT_FOUND without the
 * session. Never starts a turn.
 */
/** What is kept of a message beside its id, its sender and its time. */
export type QueuedMessageBody = Omit<UserMessage, "id" | "by" | "at">;
export type NewMessage = Pick<UserMessage, "id" | "text"> &
  Partial<Omit<UserMessage, "at">> & {
    /** For whoever begins its turn, such as which agent is meant. Not part of what is shown. */
    readonly options?: Json;
  };

export interface QueuedMessages {
  /**
   * "already" when the session has or had a message of this id, waiting or not: a repeated add changes nothing
   * and never makes a message that was taken wait again.
   */
  add(ref: SessionRef, message: NewMessage): Promise<"added" | "already">;
  /** False when it doesn't wait (any more). */
  remove(ref: SessionRef, id: string): Promise<boolean>;
  /** In the order they came, at most 1,000: those that are next. */
  list(ref: SessionRef): Promise<UserMessage[]>;
  /** Takes the oldest out; null when none waits. Each is given to one taker only. */
  take(ref: SessionRef): Promise<UserMessage | null>;
}

/** Fills in what a message doesn't say. */
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
