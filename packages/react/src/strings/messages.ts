/**
 * `resolveMessages` returns the texts of errors, and of turns that ended early. Pages without our components show them too.
 * Invariant: every error code has a text, because an error that has only a code must not stay in English.
 */
import type { ClientErrorCode } from "@turnstream/client";
import { countText } from "@turnstream/protocol";
import { createResolver } from "./extend-strings.ts";

/** English. */
export const messages = {
  locale: "en" as string,
  thread: {
    tryAgain: "Try again",
    loadFailed: "A part of the page failed to load. Try again, or reload the page.",
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
  },
  /** By code: what happened, and what the user can do. */
  errors: {
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
    } satisfies Readonly<Record<ClientErrorCode, string>>,
    /** For codes of a newer server, and for errors of the page's own code. */
    other: (message: string): string => `This didn't work: ${message}`,
  },
};

export type Messages = typeof messages;

export const resolveMessages = /* @__PURE__ */ createResolver(messages);
