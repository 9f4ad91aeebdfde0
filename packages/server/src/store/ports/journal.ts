/**
 * The sub-port of the journal: what a running turn has done, by key and not by order, so that parallel branches find
 * their own results again however they interleave. Written under the session's epoch: a worker that was superseded
 * can't add to it. Joins a transaction, so that a step and the archive of its events are committed together.
 */
import type { Json } from "@turnstream/protocol";
import type { Ref } from "../refs.ts";

export interface JournalEntry {
  readonly key: string;
  readonly value: Json;
}

export interface NewJournalEntry extends JournalEntry {
  readonly turn: string;
  /** The epoch that the writer has claimed. */
  readonly epoch: number;
  /** Stays when the turn is over, as long as the session: what later turns tell the model of this one. */
  readonly kept?: boolean;
}

export interface Journal {
  /**
   * "already" when the turn has this key: the first value stays. Throws FENCED when a higher epoch was given out
   * since, also for a key that is there; NOT_FOUND without the session. The session's epoch can't change until the
   * transaction is over.
   */
  write(ref: Ref, entry: NewJournalEntry): Promise<"written" | "already">;
  /** All of a turn, in the order written. */
  read(ref: Ref, turn: string): Promise<JournalEntry[]>;
  /** What was kept of these turns, in the order written. At most 1,000 turns. */
  kept(ref: Ref, turns: readonly string[]): Promise<(JournalEntry & { readonly turn: string })[]>;
  /** The turn is over: drops what isn't kept. @returns how many */
  close(ref: Ref, turn: string): Promise<number>;
}
