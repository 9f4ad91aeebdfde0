/**
 * The one place that turns whatever was thrown into what a client is told: a word and number of the protocol's table, an
 * HTTP status, and words. Pure. What is not known by name tells nothing of its inside.
 */
import { ZodError } from "zod";
import { truncateText, ERRORS, type ErrorCode } from "@turnstream/protocol";
import type { ErrorReply } from "@turnstream/protocol/schema";
import { isLogError, type LogError } from "../log/errors.ts";
import { BlobError } from "../session/blobs/open-blob.ts";
import { InputValidationError } from "../session/validation-error.ts";
import { isStoreError, type StoreError } from "../store/errors.ts";

export const HTTP_STATUS: Readonly<Record<ErrorCode, number>> = {
  SERVER_ERROR: 500,
  BAD_REQUEST: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  RATE_LIMITED: 429,
  TOO_LARGE: 413,
  STREAM_TIMEOUT: 504,
  CURSOR_INVALID: 400,
  CURSOR_EXPIRED: 410,
  STREAM_CLOSED: 503,
  LLM_ERROR: 502,
  LLM_RATE_LIMITED: 503,
  LLM_REFUSED: 422,
  CONTEXT_TOO_LONG: 422,
  TOOL_ERROR: 502,
  LIMIT_REACHED: 422,
  OUTCOME_UNKNOWN: 502,
  INTERACTION_CLOSED: 409,
  INTERACTION_MISMATCH: 409,
};

export interface ErrorResponse {
  readonly status: number;
  readonly reply: ErrorReply;
  /** Nobody was meant to see it: it goes to `onError`. */
  readonly isInternal: boolean;
}

const UNAVAILABLE = "Something that this server needs can't be reached. Try again.";
const MAX_WORDS = 500;

export function toErrorResponse(error: unknown): ErrorResponse {
  if (error instanceof RequestError) return told(error.code, error.message);
  if (error instanceof BlobError)
    return told(error.code === "BAD_ADDRESS" ? "BAD_REQUEST" : "NOT_FOUND", error.message);
  if (error instanceof ZodError) return told("BAD_REQUEST", zodWords(error));
  if (error instanceof InputValidationError) return told("BAD_REQUEST", error.userMessage);
  if (isStoreError(error)) return ofStore(error);
  if (isLogError(error)) return ofLog(error);
  return ours();
}

function ofStore(error: StoreError): ErrorResponse {
  switch (error.code) {
    case "NOT_FOUND":
      return told("NOT_FOUND", error.message);
    case "EXISTS":
    case "CONFLICT":
    case "FENCED":
      return told("CONFLICT", error.message);
    case "INVALID":
      return told("BAD_REQUEST", error.message);
    case "TOO_LARGE":
      return told("TOO_LARGE", error.message);
    case "BUSY":
    // It passes when somebody migrates, and a client that waits for that loses nothing.
    case "NOT_MIGRATED":
    case "UNAVAILABLE":
      return unavailable();
    default:
      return ours();
  }
}

function ofLog(error: LogError): ErrorResponse {
  if (error.code === "TOO_LARGE") return told("TOO_LARGE", error.message);
  return error.code === "INVALID" ? ours() : unavailable();
}

function told(word: ErrorCode, message: string): ErrorResponse {
  return { status: HTTP_STATUS[word], reply: replyOf(word, message), isInternal: false };
}

function unavailable(): ErrorResponse {
  const reply = { ...replyOf("SERVER_ERROR", UNAVAILABLE), retry_after_seconds: 1 };
  return { status: 503, reply, isInternal: true };
}

function ours(): ErrorResponse {
  return { status: 500, reply: replyOf("SERVER_ERROR", ERRORS.SERVER_ERROR.meaning), isInternal: true };
}

function replyOf(word: ErrorCode, message: string): ErrorReply {
  const { number, can_retry } = ERRORS[word];
  return { error: word, code: number, message: truncateText(message, MAX_WORDS), can_retry };
}

/** Where it is wrong and why; never what was sent. */
function zodWords({ issues }: ZodError): string {
  const words = issues.slice(0, 5).map(({ path, message }) => {
    const where = path.map(String).join(".");
    return where === "" ? message : `${where}: ${message}`;
  });
  return words.join("; ");
}

/** Why something that was asked for is not done, as one typed error: a word of the protocol's table, and words for people. */
export class RequestError extends Error {
  readonly code: ErrorCode;

  /** @param message for whoever asked: what is wrong, and what to do about it */
  constructor(word: ErrorCode, message: string) {
    super(message);
    this.name = "Refused";
    this.code = word;
  }
}
