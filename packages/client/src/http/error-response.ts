/**
 * `errorFromResponse`, `errorFromConnectResponse`, `errorFromText` and `errorFromBody` convert error responses of the server to a
 * `ClientError`.
 * Invariant: the fields are untrusted. An unknown code becomes SERVER_ERROR, and a retry delay is at most one day. For
 * a connect without an error body of the server, only 401 is final: a proxy returns 403 or 404 during a deploy. A body
 * that is no error of the server becomes the cause.
 */
import { ERRORS, type ErrorCode } from "@turnstream/protocol";
import { ClientError, type ClientErrorOptions } from "../errors.ts";

/** The fields of every error, over sockets and HTTP. They are untrusted, so each can be missing or malformed. */
export interface ErrorFields {
  readonly error?: unknown;
  readonly message?: unknown;
  readonly can_retry?: unknown;
  readonly retry_after_seconds?: unknown;
  /** The original error, in frames that the client itself creates. JSON can't contain it. */
  readonly original?: unknown;
}

/** Where an error comes from. */
type ErrorOrigin = Pick<ClientErrorOptions, "status" | "url" | "requestId" | "cause">;

/** Longer than any sensible wait. Browsers fire timers of more than 24 days immediately. */
const MAX_RETRY_AFTER_SECONDS = 86_400;

/** How much of a foreign body becomes the cause. */
export const MAX_CAUSE_CHARS = 500;

export function errorFromBody(fields: ErrorFields, origin: ErrorOrigin = {}): ClientError {
  const { error, message, can_retry, retry_after_seconds: seconds, original } = fields;
  if (original instanceof ClientError) return original;
  const code = isErrorCode(error) ? error : "SERVER_ERROR";
  const text = typeof message === "string" && message !== "" ? message : ERRORS[code].meaning;
  return new ClientError(code, text, {
    ...origin,
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
  const { status, url, headers } = response;
  const text = await response.text().catch(String);
  return errorFromText({ status, url, text, getHeader: (name) => headers.get(name) }, code);
}

/** A response that was read completely. */
export interface ReadResponse {
  readonly status: number;
  readonly url: string;
  readonly text: string;
  readonly getHeader: (name: string) => string | null;
}

/** A proxy may have responded instead of the server; then only the status is known. */
export function errorFromText(
  { status, url, text, getHeader }: ReadResponse,
  code = codeForStatus,
): ClientError {
  const origin = { status, url: url || null, requestId: getHeader("x-request-id") };
  const body = parseObject(text);
  if (body !== null && "error" in body) return errorFromBody(body, origin);
  const seconds = Number(getHeader("retry-after") ?? Number.NaN);
  const fields = {
    error: code(status),
    message: `The server responded with status ${status}.`,
    ...(Number.isFinite(seconds) ? { retry_after_seconds: seconds } : {}),
  };
  const cause = text === "" ? {} : { cause: new Error(text.slice(0, MAX_CAUSE_CHARS)) };
  return errorFromBody(fields, { ...origin, ...cause });
}

/** Returns null if the text is not the JSON of an object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
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
