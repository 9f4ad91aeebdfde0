/**
 * `en` are the English texts of the runtime, and the fallback of every other language.
 *
 * Invariant: it is complete, so a text that no other catalog has is found here.
 */
import { countText } from "@turnstream/protocol";
import type { ReachedLimit, RuntimeStrings } from "./runtime-strings.ts";

const count = (one: string, other: string) => countText("en", { one, other });
const number = count("#", "#");
const files = count("# file", "# files");
const LIMITS: Readonly<Record<ReachedLimit["limit"], (value: number) => string>> = {
  steps: count("# step", "# steps"),
  tokens: count("# token", "# tokens"),
  events: count("# event", "# events"),
  seconds: count("# second", "# seconds"),
  cost: count("a cost of #", "a cost of #"),
};

export const en: RuntimeStrings = {
  stopped: "You stopped this answer.",
  thinkingLabel: "Thinking",
  errors: {
    SERVER_ERROR: "Something went wrong on our side. Please try again.",
    LLM_ERROR: "The model did not answer. Please try again.",
    LLM_RATE_LIMITED: "The model is busy right now. Please try again in a moment.",
    LLM_REFUSED: "The model declined to answer this. Please rephrase it.",
    CONTEXT_TOO_LONG: "This conversation has become too long for the model. Please start a new one.",
    OUTCOME_UNKNOWN: "This was interrupted, and it is not known whether it took effect. Please check.",
    USAGE_LIMIT_REACHED:
      "This answer was ended because the usage limit of the day or month is reached. Please try again later.",
  },
  notRetryable: "This can't be answered right now. The operator of this service has to look into it.",
  crashed: "This answer could not be finished, in several tries. You can try again.",
  toolFailed: "This did not work.",
  rejected: "You rejected this.",
  formRequested: "This needs a form to be filled in.",
  notApproved: "This was not approved in time.",
  truncatedArguments: (shown, of) => `[Cut here: ${number(shown)} of ${number(of)} characters are shown.]`,
  limit: ({ limit, value }) =>
    `This answer was ended because it reached its limit (${LIMITS[limit](value)}).`,
  historyLost:
    "The server has lost the turns before this one after a failure of its database. Messages and decisions of that time may have to be repeated.",
  retrying: (seconds, attempt, tries) =>
    `The model is not answering. Trying again in ${number(seconds)} s (${number(attempt)} of ${number(tries)}).`,
  readingFile: (name) => `Reading ${name}`,
  fileFailed: (name, problem) =>
    `Could not read ${name}: ${
      {
        NOT_ALLOWED: "this address can't be used",
        NOT_FOUND: "nothing was found there",
        TOO_LARGE: "it is too large",
        TOO_MANY: "these are too many files at once",
        TIMEOUT: "it took too long",
        UNREACHABLE: "its server can't be reached",
        UNSUPPORTED: "files of this kind can't be read",
        UNREADABLE: "it is damaged or locked",
      }[problem]
    }.`,
  fileCut: (name) => `${name} is very long: only the start of it was read.`,
  filesRead: (read, of, cut) => {
    const done = read === of ? `Read ${files(of)}` : `Read ${number(read)} of ${files(of)}`;
    if (cut === 0) return done;
    return read === 1 ? `${done}, only the start` : `${done}, ${number(cut)} of them only the start`;
  },
  conversationSummarized: "Summed up the conversation so far",
};
