/**
 * `RuntimeStrings` are the texts that the runtime writes for users, in one language. Types only.
 *
 * Invariant: no text contains internal data. Functions get numbers, not formatted text, so that each language applies
 * its own plural rules and digits. `catalogs.ts` selects the language of a turn.
 */
import type { TurnErrorCode } from "@turnstream/protocol/writer";

/**
 * Why a file could not be read. `RuntimeStrings.fileFailed` turns it into a message for the user, and
 * `prompt/turn-messages.ts` into one for the model.
 */
export type FileErrorCode =
  | "NOT_ALLOWED"
  | "NOT_FOUND"
  | "TOO_LARGE"
  | "TOO_MANY"
  | "TIMEOUT"
  | "UNREACHABLE"
  | "UNSUPPORTED"
  | "UNREADABLE";

/** A limit of an agent that a turn reached. */
export interface ReachedLimit {
  readonly limit: "steps" | "tokens" | "events" | "seconds" | "cost";
  readonly value: number;
}

export interface RuntimeStrings {
  readonly stopped: string;
  /** Label of a group that contains only thinking. */
  readonly thinkingLabel: string;
  /** Shown when a turn ends with an error. A code without a text gets the text of `SERVER_ERROR`. */
  readonly errors: Readonly<Partial<Record<TurnErrorCode, string>>> & { readonly SERVER_ERROR: string };
  /** Shown for failures that a retry can't fix. */
  readonly notRetryable: string;
  /** Shown for a turn that ended the processes that ran it. */
  readonly crashed: string;
  readonly toolFailed: string;
  readonly rejected: string;
  /** Shown as the result of a call whose tool requested a form, also after the form was submitted. */
  readonly formRequested: string;
  readonly notApproved: string;
  /** Appended to tool arguments that are too long to show in full in an approval. */
  readonly truncatedArguments: (shown: number, of: number) => string;
  readonly limit: (reached: ReachedLimit) => string;
  /** The first text of a turn before which the server has lost a part of the session. */
  readonly historyLost: string;
  readonly retrying: (seconds: number, attempt: number, tries: number) => string;
  readonly conversationSummarized: string;
  readonly readingFile: (name: string) => string;
  readonly fileFailed: (name: string, problem: FileErrorCode) => string;
  /** Shown for a file with more text than the limit. */
  readonly fileCut: (name: string) => string;
  /** @param cut number of files of which only the start was read */
  readonly filesRead: (read: number, of: number, cut: number) => string;
}

/** Texts that replace single ones of a language. */
export type StringOverrides = Partial<Omit<RuntimeStrings, "errors">> & {
  readonly errors?: Partial<RuntimeStrings["errors"]>;
};
