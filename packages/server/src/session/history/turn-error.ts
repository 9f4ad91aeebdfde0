/**
 * `TurnError` reports by code why a message has no answer, or why a wait for it ended.
 *
 * Invariant: the message names ids and codes only. The text for the user is in the turn's notice.
 */
import type { ErrorCode } from "@turnstream/protocol";
import { defineErrors } from "../../util/errors.ts";

const MEANINGS = {
  FAILED: "The turn failed. Its notice has the text for the user, and `retryTurn` starts another one.",
  STOPPED: "The turn was stopped. `retryTurn` starts another one.",
  WITHDRAWN: "No turn will answer this message: it was withdrawn, or the session has no such message.",
  INTERRUPTED:
    "The rest of the turn can't be read, because the log is unreachable or was lost. Repeat the call with the same message id: it starts at the first event again.",
  CLOSED: "The app was closed. Another process continues the turn: wait there with the same message id.",
} as const;

export type TurnErrorCode = keyof typeof MEANINGS;

export class TurnError extends defineErrors("TurnError", MEANINGS) {
  /** What a failed turn failed with, such as `LLM_RATE_LIMITED`; otherwise null. */
  readonly reason: ErrorCode | null;

  constructor(code: TurnErrorCode, what: string, reason: ErrorCode | null = null) {
    super(code, reason === null ? what : `${what}, ${reason}`);
    this.reason = reason;
  }
}
