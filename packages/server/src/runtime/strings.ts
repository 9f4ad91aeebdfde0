/**
 * `RuntimeStrings` are the texts that the runtime shows to users, and `DEFAULT_STRINGS` is their English default.
 *
 * Invariant: every text has a default and contains no internal data. A worker replaces single texts, but `errors` as a
 * whole: a code without a text then falls back to `SERVER_ERROR`.
 */
import type { FileErrorCode } from "./errors.ts";
import type { TurnErrorCode } from "@turnstream/protocol/writer";

export interface RuntimeStrings {
  readonly stopped: string;
  /** Label of a group that contains only thinking. */
  readonly thinkingLabel: string;
  readonly errors: Readonly<Partial<Record<TurnErrorCode, string>>> & { readonly SERVER_ERROR: string };
  /** Shown for failures that a retry can't fix. */
  readonly notRetryable: string;
  readonly toolFailed: string;
  readonly rejected: string;
  /** Preview of a tool result that requests a form. */
  readonly formRequested: string;
  readonly notApproved: string;
  /** Appended to tool arguments that are too long to show in full in an approval. */
  readonly truncatedArguments: (shown: number, of: number) => string;
  readonly limit: (limit: string) => string;
  readonly retrying: (seconds: number, attempt: number, tries: number) => string;
  readonly conversationSummarized: string;
  readonly readingFile: (name: string) => string;
  readonly fileFailed: (name: string, problem: FileErrorCode) => string;
  /** Shown for a file with more text than the limit. */
  readonly fileCut: (name: string) => string;
  /** @param cut number of files of which only the start was read */
  readonly filesRead: (read: number, of: number, cut: number) => string;
}

const FILE_PROBLEMS: Readonly<Record<FileErrorCode, string>> = {
  NOT_ALLOWED: "this address can't be used",
  NOT_FOUND: "nothing was found there",
  TOO_LARGE: "it is too large",
  TOO_MANY: "these are too many files at once",
  TIMEOUT: "it took too long",
  UNREACHABLE: "its server can't be reached",
  UNSUPPORTED: "files of this kind can't be read",
  UNREADABLE: "it is damaged or locked",
};

export const DEFAULT_STRINGS: RuntimeStrings = {
  stopped: "You stopped this answer.",
  thinkingLabel: "Thinking",
  errors: {
    SERVER_ERROR: "Something went wrong on our side. Please try again.",
    LLM_ERROR: "The model did not answer. Please try again.",
    LLM_RATE_LIMITED: "The model is busy right now. Please try again in a moment.",
    LLM_REFUSED: "The model declined to answer this. Please rephrase it.",
    CONTEXT_TOO_LONG: "This conversation has become too long for the model. Please start a new one.",
    OUTCOME_UNKNOWN: "This was interrupted, and it is not known whether it took effect. Please check.",
  },
  notRetryable: "This can't be answered right now. The operator of this service has to look into it.",
  toolFailed: "This did not work.",
  rejected: "You rejected this.",
  formRequested: "This needs a form to be filled in.",
  notApproved: "This was not approved in time.",
  truncatedArguments: (shown, of) => `[Cut here: ${shown} of ${of} characters are shown.]`,
  limit: (limit) => `This answer was ended because it reached its limit (${limit}).`,
  retrying: (seconds, attempt, tries) =>
    `The model is not answering. Trying again in ${seconds} s (${attempt} of ${tries}).`,
  readingFile: (name) => `Reading ${name}`,
  fileFailed: (name, problem) => `Could not read ${name}: ${FILE_PROBLEMS[problem]}.`,
  fileCut: (name) => `${name} is very long: only the start of it was read.`,
  filesRead: (read, of, cut) => {
    const done = read === of ? `Read ${of} ${of === 1 ? "file" : "files"}` : `Read ${read} of ${of} files`;
    return cut === 0 ? done : `${done}, ${read === 1 ? "" : `${cut} of them `}only the start`;
  },
  conversationSummarized: "Summed up the conversation so far",
};
