/**
 * The sub-port of user messages that wait for a turn. What changes something throws NOT_FOUND without the
 * session. Never starts a turn.
 */
import type { Json, UserMessage } from "@turnstream/protocol";
import { checkId } from "../rules/arguments.ts";
import type { Ref } from "../refs.ts";

/** What is kept of a message beside its id, its sender and its time. */
export type WaitingBody = Omit<UserMessage, "id" | "by" | "at">;
export type NewMessage = Pick<UserMessage, "id" | "text"> &
  Partial<Omit<UserMessage, "at">> & {
    /** For whoever begins its turn, such as which agent is meant. Not part of what is shown. */
    readonly options?: Json;
  };

export interface Waiting {
  /**
   * "already" when the session has or had a message of this id, waiting or not: a repeated add changes nothing
   * and never makes a message that was taken wait again.
   */
  add(ref: Ref, message: NewMessage): Promise<"added" | "already">;
  /** False when it doesn't wait (any more). */
  remove(ref: Ref, id: string): Promise<boolean>;
  /** In the order they came, at most 1,000: those that are next. */
  list(ref: Ref): Promise<UserMessage[]>;
  /** Takes the oldest out; null when none waits. Each is given to one taker only. */
  take(ref: Ref): Promise<UserMessage | null>;
}

/** Fills in what a message doesn't say. */
export function waitingBody(message: NewMessage): WaitingBody {
  const { text, files = [], whole = null, resumes = null } = message;
  return { text, files, whole, resumes };
}

export function checkMessage({ id, by = null }: NewMessage): {
  readonly id: string;
  readonly by: string | null;
} {
  return { id: checkId(id, "message id"), by: by === null ? null : checkId(by, "message by") };
}
