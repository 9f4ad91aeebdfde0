/**
 * `parseProviderError` extracts status, text and kind from any error of a provider package: AI SDK classes, plain
 * objects, strings and network errors, also nested ones. Does not decide what the error means for a turn.
 * Invariant: it never throws, whatever a provider throws. Depth and text are bounded. The request is never part of the
 * text, because it contains messages of users. The text is only for matching patterns and never shown.
 */
import {
  AISDKError,
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  NoContentGeneratedError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";

export interface ProviderErrorInfo {
  readonly status: number | null;
  /** Codes, types and messages of the error and its causes, to be matched by patterns. At most 4,000 characters. */
  readonly text: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Whether the provider package marks the error as retryable; null if it does not. */
  readonly isRetryable: boolean | null;
  /** The reason, if the error class alone determines it. */
  readonly kind:
    | "UNREACHABLE"
    | "MALFORMED"
    | "BROKEN_OFF"
    | "BAD_REQUEST"
    | "NOT_ALLOWED"
    | "NO_SUCH_MODEL"
    | null;
}

const MAX_TEXT = 4000;
const MAX_DEPTH = 8;

const NETWORK_CODE =
  /^(ECONN(RESET|REFUSED|ABORTED)|ETIMEDOUT|EPIPE|EAI_AGAIN|ENOTFOUND|E(HOST|NET)UNREACH|UND_ERR_\w+|ERR_(STREAM_PREMATURE_CLOSE|SSL_\w+|TLS_\w+|HTTP2_\w+))$/;
const NETWORK_MESSAGE =
  /^(terminated|fetch failed|failed to fetch|network error|socket hang up|other side closed|premature close)$/i;

/** The only message of Anthropic's package for a stream that starts with unreadable data. */
const UNREAD = "Expected a normalized Anthropic stream error";

export function parseProviderError(error: unknown): ProviderErrorInfo {
  const record = asRecord(error);
  const status = statusOf(record);
  return {
    status,
    text: textOf(error),
    headers: APICallError.isInstance(error) ? error.responseHeaders : undefined,
    isRetryable: typeof record?.["isRetryable"] === "boolean" ? record["isRetryable"] : null,
    kind: kindOf(error, status),
  };
}

function kindOf(error: unknown, status: number | null): ProviderErrorInfo["kind"] {
  const is = (...types: { isInstance(error: unknown): boolean }[]) =>
    types.some((type) => type.isInstance(error));
  if (is(JSONParseError, TypeValidationError, InvalidResponseDataError)) return "MALFORMED";
  if (is(EmptyResponseBodyError, NoContentGeneratedError)) return "BROKEN_OFF";
  if (is(LoadAPIKeyError, LoadSettingError)) return "NOT_ALLOWED";
  if (is(NoSuchModelError)) return "NO_SUCH_MODEL";
  if (is(InvalidPromptError, InvalidArgumentError, UnsupportedFunctionalityError)) return "BAD_REQUEST";
  // A response with an error status is more specific than a connection that broke while the response was read.
  if (status === null && isNetworkError(error)) return "UNREACHABLE";
  if (error instanceof Error && error.message === UNREAD) return "MALFORMED";
  return null;
}

function isNetworkError(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < MAX_DEPTH && current instanceof Error; depth++) {
    const { code } = current as { code?: unknown };
    if (typeof code === "string" && NETWORK_CODE.test(code)) return true;
    if (!AISDKError.isInstance(current) && NETWORK_MESSAGE.test(current.message)) return true;
    current = current.cause;
  }
  return false;
}

function statusOf(record: Record<string, unknown> | null): number | null {
  for (const key of ["statusCode", "status", "code"]) {
    const value = record?.[key];
    // A success status does not describe an error.
    if (typeof value === "number" && Number.isInteger(value) && value >= 400 && value <= 599) return value;
  }
  return null;
}

function textOf(error: unknown): string {
  const found: string[] = [];
  collect(error, found, 0);
  return found.join("\n").slice(0, MAX_TEXT);
}

function collect(value: unknown, found: string[], depth: number): void {
  if (typeof value === "string") found.push(value.slice(0, MAX_TEXT));
  const record = asRecord(value);
  if (record === null || depth > 3) return;
  for (const key of ["code", "type", "message", "responseBody"]) {
    const text = record[key];
    if (typeof text === "string") found.push(text.slice(0, MAX_TEXT));
  }
  // The fields where providers put the reason. The request is excluded, because it contains messages of users.
  for (const key of ["error", "data", "cause"]) collect(asRecord(record[key]), found, depth + 1);
}

function asRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
}
