/**
 * `errorFromResponse`, `errorFromConnectResponse` and `errorFromBody` convert error responses of the server to a
 * `ClientError`.
 * Invariant: the fields are untrusted. An unknown code becomes SERVER_ERROR, and a retry delay is at most one day. For
 * a connect without an error body of the server, only 401 is final: a proxy returns 403 or 404 during a deploy.
 */
import { ERRORS, type ErrorCode } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";

/** The fields of every error, over sockets and HTTP. They are untrusted, so each can be missing or malformed. */
export interface ErrorFields {
  readonly error?: unknown;
  readonly message?: unknown;
  readonly can_retry?: unknown;
  readonly retry_after_seconds?: unknown;
}

/** Longer than any sensible wait. Browsers fire timers of more than 24 days immediately. */
const MAX_RETRY_AFTER_SECONDS = 86_400;

export function errorFromBody(fields: ErrorFields): ClientError {
  const { error, message, can_retry, retry_after_seconds: seconds } = fields;
  const code = isErrorCode(error) ? error : "SERVER_ERROR";
  const text = typeof message === "string" && message !== "" ? message : ERRORS[code].meaning;
  return new ClientError(code, text, {
    canRetry: typeof can_retry === "boolean" ? can_retry : ERRORS[code].can_retry,
    ...(typeof seconds === "number" && seconds >= 0
      ? { retryAfterSeconds: Math.min(seconds, MAX_RETRY_AFTER_SECONDS) }
      : {}),
  });
}

/** Reads the error of a response that is not ok. */
export async function errorFromResponse(response: Response): Promise<ClientError> {
  return readErrorResponse(response, codeForStatus);
}

/**
 * Reads the error of a response to a connect. A proxy returns 404 or 403 while the server behind it is replaced.
 * Without an error body of the server, only 401 is final.
 */
export async function errorFromConnectResponse(response: Response): Promise<ClientError> {
  return readErrorResponse(response, (status) => (status === 401 ? "UNAUTHENTICATED" : "SERVER_ERROR"));
}

async function readErrorResponse(response: Response, code: typeof codeForStatus): Promise<ClientError> {
  const body: unknown = await response.json().catch(() => null);
  return errorFromStatus(response.status, body, response.headers.get("retry-after"), code);
}

/** A proxy may have responded instead of the server; then only the status is known. */
export function errorFromStatus(
  status: number,
  body: unknown,
  retryAfter: string | null,
  code = codeForStatus,
): ClientError {
  if (typeof body === "object" && body !== null && "error" in body) return errorFromBody(body);
  const seconds = Number(retryAfter ?? Number.NaN);
  return errorFromBody({
    error: code(status),
    message: `The server responded with status ${status}.`,
    ...(Number.isFinite(seconds) ? { retry_after_seconds: seconds } : {}),
  });
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERRORS, code);
}

function codeForStatus(status: number): ErrorCode {
  switch (status) {
    case 400:
      return "BAD_REQUEST";
    case 401:
      return "UNAUTHENTICATED";
    case 403:
      return "FORBIDDEN";
    case 404:
      return "NOT_FOUND";
    case 409:
      return "CONFLICT";
    case 413:
      return "TOO_LARGE";
    case 429:
      return "RATE_LIMITED";
    default:
      return "SERVER_ERROR";
  }
}
