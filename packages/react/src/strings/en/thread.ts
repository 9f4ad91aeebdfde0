/**
 * `thread` and `errors` are the English strings of the thread and of errors: turns, steps, composer, connection,
 * announcements.
 * Invariant: they define the shape of the other languages, so a new key needs a text in each. Numbers arrive as
 * formatted text, unless the text has plural forms: `countText` formats them.
 */
import { ENGLISH_ANNOUNCEMENTS } from "@turnstream/client/view";
import { countText } from "@turnstream/protocol";

export const thread = {
  conversation: "Conversation",
  loadEarlier: "Show earlier messages",
  loadingEarlier: "Loading earlier messages…",
  loadEarlierFailed: "Earlier messages failed to load.",
  toNewest: "To the newest message",
  tryAgain: "Try again",
  loadFailed: "A part of the page failed to load. Try again, or reload the page.",
  you: "You",
  /** The author of a message, in a shared session. */
  author: "Author",

  working: "Working…",
  done: "Done",
  thinking: "Thinking…",
  thought: "Thoughts",
  steps: countText("en", { one: "# step", other: "# steps" }),
  results: countText("en", { one: "# result", other: "# results" }),
  failedSteps: countText("en", { other: "# failed" }),
  seconds: (n: string): string => `${n} s`,
  minutes: (minutes: string, seconds: string): string => `${minutes} min ${seconds} s`,

  request: "Request",
  response: "Response",
  edited: "changed by you",
  showAll: "Show all",
  toolStatus: {
    pending: "running",
    done: "done",
    error: "failed",
    stopped: "stopped",
    waiting: "waiting for you",
  },
  subAgent: (name: string): string => `Work of ${name}`,

  stopped: "You stopped this. Send a new message to continue.",
  failed: "This failed. The steps are saved.",
  notRetryable: "This can't be answered now. Ask the operator.",
  limitReached: (limit: string): string => `This answer reached its limit (${limit}).`,
  limits: {
    steps: countText("en", { one: "# step", other: "# steps" }),
    tokens: countText("en", { one: "# token", other: "# tokens" }),
    events: countText("en", { one: "# event", other: "# events" }),
    seconds: countText("en", { one: "# second", other: "# seconds" }),
    cost: countText("en", { other: "a cost of #" }),
  },
  lostTurns: "The server lost the newest messages of this chat.",
  resuming: "The answer continues in a moment…",
  noWorker: "No worker is running. The answer continues later.",
  retry: "Try again",

  messageStatus: {
    queued: "Queued",
    waiting: "Sent when you are online",
    sending: "Sending…",
    failed: "Not sent",
  },
  cancel: "Withdraw",
  discard: "Discard",
  resend: "Send again",

  placeholder: "Send a message…",
  message: "Message",
  send: "Send",
  stop: "Stop",
  attach: "Attach files",
  dropFiles: "Drop files here",
  removeFile: (name: string): string => `Remove ${name}`,
  uploading: (name: string): string => `Uploading ${name}`,
  uploadFailed: "Upload failed",
  files: "Files",

  connection: {
    connecting: "Connecting…",
    replaying: "Catching up…",
    resyncing: "Catching up…",
    waiting: "Connection lost. Reconnecting…",
    waitingFor: (seconds: string): string => `Connection lost. Retrying in ${seconds} s.`,
    offline: "You are offline.",
    closed: "Disconnected.",
    retryNow: "Retry now",
  },

  announce: ENGLISH_ANNOUNCEMENTS.strings,

  welcome: "How can I help?",
  suggestions: "Suggestions",
};

/** English texts of errors, by code: what happened, and what the user can do. */
export const errors = {
  byCode: {
    OFFLINE: "There is no connection. Nothing was sent.",
    UNSURE: "The connection was lost. This may have succeeded.",
    ABORTED: "This was cancelled.",
    SERVER_ERROR: "The server had an error. Try again.",
    BAD_REQUEST: "The server rejected this. Reload the page.",
    UNAUTHENTICATED: "Sign in again to continue.",
    FORBIDDEN: "You have no access.",
    NOT_FOUND: "This doesn't exist, or you have no access.",
    CONFLICT: "This was changed. Check it again.",
    RATE_LIMITED: "A limit was reached. Try again later.",
    TOO_LARGE: "This is too large.",
    STREAM_TIMEOUT: "The server did not respond. Try again.",
    CURSOR_INVALID: "This page is out of sync. Reload it.",
    CURSOR_EXPIRED: "This page is too old. Reload it.",
    STREAM_CLOSED: "The server is restarting.",
    LLM_ERROR: "The model could not answer. Try again.",
    LLM_RATE_LIMITED: "The model is busy. Try again later.",
    LLM_REFUSED: "The model rejected this. Rephrase it.",
    CONTEXT_TOO_LONG: "The conversation is too long. Start a new one.",
    TOOL_ERROR: "A tool failed. Try again.",
    LIMIT_REACHED: "A limit was reached.",
    OUTCOME_UNKNOWN: "This may have succeeded.",
    USAGE_LIMIT_REACHED: "The limit was reached. Try again later.",
    INTERACTION_CLOSED: "This was already decided.",
    INTERACTION_MISMATCH: "This has changed. Check it again.",
  },
  /** For codes of a newer server, and for errors of the page's own code. */
  other: (message: string): string => `This didn't work: ${message}`,
};
