/**
 * `ModelError` is the only error of a model call. It has the error code of the turn, whether a retry can help, and a
 * message with advice. `modelErrorFrom` creates it from any error. Does not decide whether to retry; see `retryDelay`.
 * Invariant: messages are fixed texts: a provider's message can contain keys, URLs or content. It is only in `cause`,
 * which is for operators. A provider can't make an error retryable that is known to be permanent.
 */
import type { TurnErrorCode } from "@turnstream/protocol/writer";

import { parseProviderError, type ProviderErrorInfo } from "./provider-error.ts";
import type { ModelUsage } from "./model.ts";
import { retryAfterOf } from "./retry-after.ts";

interface Meaning {
  readonly code: TurnErrorCode;
  readonly isRetryable: boolean;
  readonly message: string;
}

const MEANINGS = {
  RATE_LIMITED: {
    code: "LLM_RATE_LIMITED",
    isRetryable: true,
    message: "The rate limit of the model provider is reached. Wait, or raise the limit at the provider.",
  },
  OVERLOADED: {
    code: "LLM_RATE_LIMITED",
    isRetryable: true,
    message: "The model provider is overloaded. Wait, or choose another model.",
  },
  NO_CREDIT: {
    code: "LLM_ERROR",
    isRetryable: false,
    message: "The account at the model provider has no credit or quota left. Add credit at the provider.",
  },
  REFUSED: {
    code: "LLM_REFUSED",
    isRetryable: false,
    message: "The model or its provider refused the content. Rephrase it.",
  },
  CONTEXT_TOO_LONG: {
    code: "CONTEXT_TOO_LONG",
    isRetryable: false,
    message:
      "The conversation is too long for the model. Shorten it, or choose a model with a larger context.",
  },
  NOT_ALLOWED: {
    code: "LLM_ERROR",
    isRetryable: false,
    message:
      "The model provider rejects the API key, at least for this model. Check the key and its permissions.",
  },
  NO_SUCH_MODEL: {
    code: "LLM_ERROR",
    isRetryable: false,
    message: "The model provider doesn't know this model or URL. Check the model's id and the base URL.",
  },
  BAD_REQUEST: {
    code: "LLM_ERROR",
    isRetryable: false,
    message: "The model provider rejects the request. See the cause; a retry doesn't help.",
  },
  PROVIDER_FAILED: {
    code: "LLM_ERROR",
    isRetryable: true,
    message: "The model provider failed. Try again; check its status page if it persists.",
  },
  UNREACHABLE: {
    code: "LLM_ERROR",
    isRetryable: true,
    message:
      "The connection to the model provider failed or broke. Try again; check the network if it persists.",
  },
  BROKEN_OFF: {
    code: "LLM_ERROR",
    isRetryable: true,
    message: "The model's answer ended before it was complete. Try again.",
  },
  SILENT: {
    code: "LLM_ERROR",
    isRetryable: true,
    message: "The model sent nothing for too long. Try again, or raise the timeout.",
  },
  MALFORMED: {
    code: "LLM_ERROR",
    isRetryable: true,
    message: "The model's answer is malformed. Try again; update the provider's package if it persists.",
  },
  UNKNOWN: {
    code: "LLM_ERROR",
    isRetryable: false,
    message: "The model call failed for an unknown reason. See the cause.",
  },
} as const satisfies Record<string, Meaning>;

export type ModelErrorReason = keyof typeof MEANINGS;

export interface ModelErrorOptions {
  readonly cause?: unknown;
  readonly status?: number | null;
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number | null;
  readonly usage?: ModelUsage | null;
}

export class ModelError extends Error {
  readonly reason: ModelErrorReason;
  readonly code: TurnErrorCode;
  readonly isRetryable: boolean;
  /** The delay that the provider requested, or null. */
  readonly retryAfterMs: number | null;
  /** The HTTP status, or null. */
  readonly status: number | null;
  /** The tokens that the failed call used, if the provider reported them. */
  readonly usage: ModelUsage | null;

  constructor(reason: ModelErrorReason, options: ModelErrorOptions = {}) {
    const { code, isRetryable, message } = MEANINGS[reason];
    const { cause, status = null } = options;
    const shown = `${code}: ${status === null ? "" : `(HTTP ${status}) `}${message}`;
    super(shown, cause === undefined ? {} : { cause });
    this.name = "ModelError";
    this.reason = reason;
    this.code = code;
    this.isRetryable = options.isRetryable ?? isRetryable;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.status = status;
    this.usage = options.usage ?? null;
  }
}

export function modelErrorFrom(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  const facts = parseProviderError(error);
  const reason = reasonOf(facts);
  return new ModelError(reason, {
    cause: error,
    status: facts.status,
    retryAfterMs: MEANINGS[reason].isRetryable ? retryAfterOf(facts.headers) : null,
    // The provider can mark a retryable error as permanent, and an unknown one as retryable. It can't make an error
    // retryable that is known to be permanent.
    isRetryable: MEANINGS[reason].isRetryable
      ? facts.isRetryable !== false || reason === "OVERLOADED"
      : reason === "UNKNOWN" && facts.isRetryable === true,
  });
}

const NO_CREDIT =
  /insufficient_quota|billing_error|billing_hard_limit|credit balance is too low|out of credits/i;
const OVERLOADED = /overloaded|engine is currently overloaded|server_overloaded|at capacity/i;
const RATE = /rate_limit|rate limit|too many requests|throttl|resource_exhausted/i;
const REFUSED =
  /content_filter|content_policy|content filter|content management policy|responsible_ai|moderation_blocked|usage polic|invalid_prompt|safety_violation|prohibited_content|blocked due to safety/i;
const TOO_LONG =
  /context_length_exceeded|exceed_context_size|model_context_window|maximum context length|context (?:window|limit|length|size)|prompt is too long|input is too long|maximum prompt length|request_too_large|reduce the length|(?:input )?token count.{0,40}exceeds|string_above_max_length/i;

function reasonOf({ status, text, kind }: ProviderErrorInfo): ModelErrorReason {
  if (kind !== null) return kind;
  if (NO_CREDIT.test(text) || status === 402) return "NO_CREDIT";
  // Most providers respond with 503 or 529. Inside a stream there is only text.
  if (status === 529 || OVERLOADED.test(text)) return "OVERLOADED";
  if (status === 429) return "RATE_LIMITED";
  if (status === null || status === 400 || status === 413 || status === 422) {
    if (REFUSED.test(text)) return "REFUSED";
    if (TOO_LONG.test(text) || status === 413) return "CONTEXT_TOO_LONG";
    if (RATE.test(text)) return "RATE_LIMITED";
  }
  if (status === null) return /server_error|api_error|internal/i.test(text) ? "PROVIDER_FAILED" : "UNKNOWN";
  if (status === 401 || status === 403) return "NOT_ALLOWED";
  if (status === 404) return "NO_SUCH_MODEL";
  if (status === 408 || status === 409 || status === 425 || status >= 500) return "PROVIDER_FAILED";
  return "BAD_REQUEST";
}
