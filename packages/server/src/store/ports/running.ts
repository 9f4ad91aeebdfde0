/**
 * The sub-port of turns that run: at most one per session, from the moment its message is taken until its end is
 * told. It is what a worker that finds a turn again goes on from, and where a stop waits for it. Never runs anything.
 */
import type { Json, UserMessage } from "@turnstream/protocol";
import type { Ref } from "../refs.ts";

export interface RunningTurn extends Ref {
  readonly turn: string;
  /** Whose session it is. */
  readonly user: string;
  /** The message that it answers; null when it tries an earlier turn again. */
  readonly message: UserMessage | null;
  /** The turn that it tries again, if it does. */
  readonly retries: string | null;
  /** What the message (or the retry) asked for beside its text, such as which agent; null when nothing. */
  readonly options: Json;
  readonly begunAt: number;
  /** How often a worker has set about it. */
  readonly attempts: number;
  /** How many of the last attempts in a row journaled nothing, this one included and those forgiven left out. */
  readonly fruitless: number;
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

export interface Running {
  /**
   * Takes the oldest waiting message and makes its turn the running one, in one step. Null when a turn runs already
   * or nothing waits. Throws NOT_FOUND without the session.
   */
  begin(ref: Ref, turn: NewTurn): Promise<RunningTurn | null>;
  get(ref: Ref): Promise<RunningTurn | null>;
  /** Counts another attempt. @returns the turn with it counted, or null when it isn't running (any more). */
  attempt(ref: Ref, turn: string): Promise<RunningTurn | null>;
  /**
   * The attempt of that number was handed over in good order, and is no sign that the turn can't go on. Does nothing once
   * there was another.
   */
  forgive(ref: Ref, attempt: { readonly turn: string; readonly attempts: number }): Promise<void>;
  /** Without `turn`: whichever runs. */
  requestStop(
    ref: Ref,
    stop: { readonly turn?: string; readonly by?: string },
  ): Promise<{ readonly receipt: StopReceipt; readonly turn: string | null }>;
  /** Those that somebody wants stopped, the longest asked for first. */
  stopping(query: { readonly limit: number }): Promise<RunningTurn[]>;
  /** The turn is over and told. False when it isn't running. */
  end(ref: Ref, turn: string): Promise<boolean>;
  /** Begun that long ago and never attempted: whoever began them died. The oldest first. */
  unattempted(query: { readonly olderThanMs: number; readonly limit: number }): Promise<RunningTurn[]>;
  /** Sessions in which a message has waited that long and no turn runs. The longest waiting first. */
  startable(query: { readonly olderThanMs: number; readonly limit: number }): Promise<Ref[]>;
}
