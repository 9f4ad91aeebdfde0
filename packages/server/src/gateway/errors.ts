/**
 * `toErrorResponse` converts any error to an error response: a code and number of the protocol, an HTTP status, and a
 * message. `RequestError` is the error for a rejected request, and `SignInError` for a refused credential. Pure.
 * Invariant: the response to an unknown, internal or availability error reveals nothing about its cause. The messages
 * of all other errors reach the client, so they must contain no secrets and no internals. Validation errors name
 * fields and reasons, never the input.
 */
import { ZodError } from "zod";
import { ERRORS, type ErrorCode } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import type { ErrorReply } from "@turnstream/protocol/schema";
import { isLogError, type LogError } from "../log/errors.ts";
import { BlobError } from "../session/blobs/open-blob.ts";
import { LimitExceededError } from "../session/limit-exceeded.ts";
import { InputValidationError } from "../session/validation-error.ts";
import { isStoreError, type StoreError, type StoreErrorCode } from "../store/errors.ts";
import { type ExceededLimit, toWireName } from "../store/rules/limits.ts";
import type { SecurityEvent } from "../util/security-event.ts";

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
  USAGE_LIMIT_REACHED: 429,
  INTERACTION_CLOSED: 409,
  INTERACTION_MISMATCH: 409,
};

export interface ErrorResponse {
  readonly status: number;
  readonly reply: ErrorReply;
  /** True for server errors, which are reported to `onError`. */
  readonly isInternal: boolean;
}

const UNAVAILABLE = "A service that this server needs is unavailable. Try again.";
const MAX_MESSAGE_LENGTH = 500;

export function toErrorResponse(error: unknown): ErrorResponse {
  if (error instanceof LimitExceededError) return fromExceededLimit(error.exceeded);
  if (error instanceof RequestError) return clientError(error.code, error.message);
  if (error instanceof BlobError)
    return clientError(error.code === "BAD_ADDRESS" ? "BAD_REQUEST" : "NOT_FOUND", error.message);
  if (error instanceof ZodError) return clientError("BAD_REQUEST", formatZodError(error));
  if (error instanceof InputValidationError) return clientError("BAD_REQUEST", error.userMessage);
  if (isStoreError(error)) return fromStoreError(error);
  if (isLogError(error)) return fromLogError(error);
  // Its own text is for operators.
  if (error instanceof ServiceError) return unavailable();
  return internalError();
}

/** A retry of a file needs other files to be deleted first, so it is an error of size. */
function fromExceededLimit({ limit, scope, retryAfterMs }: ExceededLimit): ErrorResponse {
  const name = toWireName(limit);
  const seconds = Math.ceil(retryAfterMs / 1_000);
  const { status, reply, isInternal } = clientError(
    limit === "storedBytes" ? "TOO_LARGE" : "RATE_LIMITED",
    limit === "storedBytes"
      ? `The files of the ${scope} have reached the limit ${name}. Delete some of them first.`
      : `The limit ${name} of the ${scope} is reached. Try again in ${seconds} seconds.`,
  );
  const details = { limit: name, scope, retry_after_ms: Math.ceil(retryAfterMs) };
  return { status, reply: { ...reply, retry_after_seconds: seconds, details }, isInternal };
}

/** The errors of the store that the client has caused. */
const OF_CLIENT: Readonly<Partial<Record<StoreErrorCode, ErrorCode>>> = {
  NOT_FOUND: "NOT_FOUND",
  EXISTS: "CONFLICT",
  CONFLICT: "CONFLICT",
  FENCED: "CONFLICT",
  INVALID: "BAD_REQUEST",
  TOO_LARGE: "TOO_LARGE",
};

function fromStoreError(error: StoreError): ErrorResponse {
  const code = OF_CLIENT[error.code];
  if (code !== undefined) return clientError(code, error.message);
  // `NOT_MIGRATED` is temporary until an operator runs the migration, so the client may retry.
  return isStoreError(error, "BUSY", "NOT_MIGRATED", "UNAVAILABLE") ? unavailable() : internalError();
}

function fromLogError(error: LogError): ErrorResponse {
  if (error.code === "TOO_LARGE") return clientError("TOO_LARGE", error.message);
  return error.code === "INVALID" ? internalError() : unavailable();
}

function clientError(code: ErrorCode, message: string): ErrorResponse {
  return { status: HTTP_STATUS[code], reply: createReply(code, message), isInternal: false };
}

function unavailable(): ErrorResponse {
  const reply = { ...createReply("SERVER_ERROR", UNAVAILABLE), retry_after_seconds: 1 };
  return { status: 503, reply, isInternal: true };
}

function internalError(): ErrorResponse {
  return { status: 500, reply: createReply("SERVER_ERROR", ERRORS.SERVER_ERROR.meaning), isInternal: true };
}

function createReply(code: ErrorCode, message: string): ErrorReply {
  const { number, can_retry } = ERRORS[code];
  return { error: code, code: number, message: truncateText(message, MAX_MESSAGE_LENGTH), can_retry };
}

/** Lists the invalid fields and the reasons, never the input itself. */
function formatZodError({ issues }: ZodError): string {
  const messages = issues.slice(0, 5).map(({ path, message }) => {
    const location = path.map(String).join(".");
    return location === "" ? message : `${location}: ${message}`;
  });
  return messages.join("; ");
}

/** A service that a feature needs can't be reached, or doesn't accept a request. Clients get 503, and may try again. */
export class ServiceError extends Error {}

/** The error for a rejected request: a code of the protocol and a message for the caller. */
export class RequestError extends Error {
  readonly code: ErrorCode;

  /** @param message what is wrong, and what the caller can do */
  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = "RequestError";
    this.code = code;
  }
}

type SignInEvent = Extract<SecurityEvent, { readonly type: "sign_in_refused" | "signature_invalid" }>;

/**
 * The error for a refused credential. Its event is for the operator, and names a tenant, user or key only as far as a
 * verified credential or the id in a key names it.
 */
export class SignInError extends RequestError {
  readonly event: SignInEvent;

  /** @param message for the client */
  constructor(event: SignInEvent, message: string) {
    super("UNAUTHENTICATED", message);
    this.name = "SignInError";
    this.event = event;
  }
}
