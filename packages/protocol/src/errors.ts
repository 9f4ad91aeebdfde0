/**
 * `ERRORS` is the table of error codes: the word (`blocks`, `native`, REST), the number (`responses`) and the meaning.
 * Invariant: types and schemas derive from it, and a test compares the table in PROTOCOL.md with it. Each number is
 * unique. A code or number from outside that is unknown becomes SERVER_ERROR. Does not contain texts for end users.
 */

interface ErrorEntry {
  readonly number: number;
  readonly can_retry: boolean;
  /** Whether the turn (or the request) failed, or only the connection while the turn continues. */
  readonly about: "turn" | "connection";
  /** The cause, and how the receiver of the code can react. */
  readonly meaning: string;
}

export const ERRORS = {
  SERVER_ERROR: {
    number: 10005,
    about: "turn",
    can_retry: true,
    meaning: "The server failed. Try again, and report the error if it persists.",
  },
  BAD_REQUEST: {
    number: 10006,
    about: "turn",
    can_retry: false,
    meaning: "The request or frame is malformed. Correct it first.",
  },
  UNAUTHENTICATED: {
    number: 10007,
    about: "connection",
    can_retry: false,
    meaning: "The request has no valid key or token. Sign in again.",
  },
  FORBIDDEN: {
    number: 10008,
    about: "turn",
    can_retry: false,
    meaning: "The key is valid but does not allow this.",
  },
  NOT_FOUND: {
    number: 10009,
    about: "turn",
    can_retry: false,
    meaning: "The resource does not exist, or this user has no access to it.",
  },
  CONFLICT: {
    number: 10010,
    about: "turn",
    can_retry: false,
    meaning: "Another request was first. Read the current state.",
  },
  RATE_LIMITED: {
    number: 10011,
    about: "connection",
    can_retry: true,
    meaning: "Too many requests. Wait for the time given in the response.",
  },
  TOO_LARGE: {
    number: 10012,
    about: "turn",
    can_retry: false,
    meaning: "The message or file exceeds the limit. Send less.",
  },
  STREAM_TIMEOUT: {
    number: 10013,
    about: "connection",
    can_retry: true,
    meaning: "A running turn produced no event for too long. Reconnect from the last event received.",
  },
  CURSOR_INVALID: {
    number: 10014,
    about: "connection",
    can_retry: false,
    meaning: "The cursor is malformed, is ahead of the log, or belongs to another log. Reload the state.",
  },
  CURSOR_EXPIRED: {
    number: 10015,
    about: "connection",
    can_retry: false,
    meaning: "The log no longer reaches back to the cursor. Reload the state.",
  },
  STREAM_CLOSED: {
    number: 10016,
    about: "connection",
    can_retry: true,
    meaning: "The server restarts and the turn continues. Reconnect from the last event received.",
  },
  LLM_ERROR: {
    number: 11001,
    about: "turn",
    can_retry: true,
    meaning: "The model provider failed. Try the turn again.",
  },
  LLM_RATE_LIMITED: {
    number: 11002,
    about: "turn",
    can_retry: true,
    meaning: "The model provider is out of capacity. Try later.",
  },
  LLM_REFUSED: {
    number: 11003,
    about: "turn",
    can_retry: false,
    meaning: "The model provider refused the content. Rephrase it.",
  },
  CONTEXT_TOO_LONG: {
    number: 11004,
    about: "turn",
    can_retry: false,
    meaning: "The conversation is too long for the model.",
  },
  TOOL_ERROR: {
    number: 12001,
    about: "turn",
    can_retry: true,
    meaning: "A tool failed and the turn could not continue.",
  },
  LIMIT_REACHED: {
    number: 12002,
    about: "turn",
    can_retry: false,
    meaning: "The turn reached a limit of its agent (steps, tokens, time or cost).",
  },
  OUTCOME_UNKNOWN: {
    number: 12003,
    about: "turn",
    can_retry: false,
    meaning: "A tool that must not run twice was interrupted. Check manually whether it took effect.",
  },
  USAGE_LIMIT_REACHED: {
    number: 12004,
    about: "turn",
    can_retry: true,
    meaning:
      "The user, API key or tenant has used its tokens or cost of the day or month. Try the turn again later.",
  },
  INTERACTION_CLOSED: {
    number: 13001,
    about: "turn",
    can_retry: false,
    meaning: "The approval, question, form or payment is already decided, or its deadline has passed.",
  },
  INTERACTION_MISMATCH: {
    number: 13002,
    about: "turn",
    can_retry: false,
    meaning: "The decision does not match the request that was shown. Check it again, then decide.",
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

type TurnErrorWordOf<W> = W extends ErrorCode
  ? (typeof ERRORS)[W]["about"] extends "turn"
    ? W
    : never
  : never;
/** The codes that a turn can fail with. */
export type TurnErrorCode = TurnErrorWordOf<ErrorCode>;

export const TURN_ERROR_CODES = ERROR_CODES.filter((word) => ERRORS[word].about === "turn") as [
  TurnErrorCode,
  ...TurnErrorCode[],
];

/** Returns the word of a number, or SERVER_ERROR if the number is unknown. */
export function errorCodeFromNumber(number: number): ErrorCode {
  return ERROR_CODES.find((word) => ERRORS[word].number === number) ?? "SERVER_ERROR";
}
