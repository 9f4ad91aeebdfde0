/** Answers of the server that are refusals, as the error that a caller gets. Pure. */
import { ERRORS, type ErrorCode } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";

/** The fields that every refusal has, over sockets and HTTP; from outside, so none is sure. */
export interface RefusalFields {
  readonly error?: unknown;
  readonly message?: unknown;
  readonly can_retry?: unknown;
  readonly retry_after_seconds?: unknown;
}

/** Longer than anybody waits; and timers that are set for more than 24 days go off at once. */
const LONGEST_SECONDS = 86_400;

export function refusalOf(fields: RefusalFields): ClientError {
  const { error, message, can_retry, retry_after_seconds: seconds } = fields;
  const word = isWord(error) ? error : "SERVER_ERROR";
  const words = typeof message === "string" && message !== "" ? message : ERRORS[word].meaning;
  return new ClientError(word, words, {
    canRetry: typeof can_retry === "boolean" ? can_retry : ERRORS[word].can_retry,
    ...(typeof seconds === "number" && seconds >= 0
      ? { retryAfterSeconds: Math.min(seconds, LONGEST_SECONDS) }
      : {}),
  });
}

/** Of an answer that isn't ok. */
export async function refusalIn(response: Response): Promise<ClientError> {
  return refusalOfAnswer(response, wordOf);
}

/**
 * Of an answer to who wants to connect. A proxy says 404 or 403 while what is behind it is replaced: in words that aren't
 * the server's, only that one has to sign in is for good.
 */
export async function refusalAtDoor(response: Response): Promise<ClientError> {
  return refusalOfAnswer(response, (status) => (status === 401 ? "UNAUTHENTICATED" : "SERVER_ERROR"));
}

async function refusalOfAnswer(response: Response, word: typeof wordOf): Promise<ClientError> {
  const body: unknown = await response.json().catch(() => null);
  return refusalFrom(response.status, body, response.headers.get("retry-after"), word);
}

/** Something between may have answered in place of the server: then there is only the status. */
export function refusalFrom(
  status: number,
  body: unknown,
  retryAfter: string | null,
  word = wordOf,
): ClientError {
  if (typeof body === "object" && body !== null && "error" in body) return refusalOf(body);
  const seconds = Number(retryAfter ?? Number.NaN);
  return refusalOf({
    error: word(status),
    message: `The server answered with ${status}.`,
    ...(Number.isFinite(seconds) ? { retry_after_seconds: seconds } : {}),
  });
}

function isWord(word: unknown): word is ErrorCode {
  return typeof word === "string" && Object.hasOwn(ERRORS, word);
}

function wordOf(status: number): ErrorCode {
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
