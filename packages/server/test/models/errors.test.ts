/**
 * Tests how errors of providers become a ModelError: its code, whether and when to retry, and a message without
 * secrets.
 */
import {
  APICallError,
  EmptyResponseBodyError,
  InvalidPromptError,
  LoadAPIKeyError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";

import { ModelError, modelErrorFrom } from "../../src/models/errors.ts";
import { retryAfterOf } from "../../src/models/retry-after.ts";

function apiError(status: number | null, body: unknown, headers: Record<string, string> = {}): APICallError {
  return new APICallError({
    message: "request to https://secret.example/v1 with sk-123 failed",
    url: "https://secret.example/v1",
    requestBodyValues: { prompt: "text of a user: context_length_exceeded" },
    responseHeaders: headers,
    responseBody: JSON.stringify(body),
    ...(status === null ? {} : { statusCode: status }),
  });
}
const withCode = (message: string, code: string) => Object.assign(new Error(message), { code });

describe("modelErrorFrom maps", () => {
  const cases: [string, unknown, Partial<ModelError>][] = [
    [
      "OpenAI's context length error",
      apiError(400, { error: { code: "context_length_exceeded" } }),
      { code: "CONTEXT_TOO_LONG" },
    ],
    [
      "Anthropic's context length error",
      apiError(400, { error: { message: "prompt is too long: 210000 tokens > 200000 maximum" } }),
      { code: "CONTEXT_TOO_LONG", isRetryable: false },
    ],
    [
      "Google's context length error",
      apiError(400, { error: { message: "The input token count (1200000) exceeds the maximum number" } }),
      { code: "CONTEXT_TOO_LONG" },
    ],
    ["a body that is too large", apiError(413, {}), { code: "CONTEXT_TOO_LONG", isRetryable: false }],
    ["Azure's content filter", apiError(400, { error: { code: "content_filter" } }), { code: "LLM_REFUSED" }],
    [
      "a flagged prompt",
      apiError(400, { error: { code: "invalid_prompt", message: "flagged: violates our usage policy" } }),
      { code: "LLM_REFUSED", isRetryable: false },
    ],
    [
      "a rate limit",
      apiError(429, {}, { "retry-after": "3" }),
      { code: "LLM_RATE_LIMITED", retryAfterMs: 3000 },
    ],
    [
      "a rate limit in a stream",
      { type: "rate_limit_error", message: "" },
      { code: "LLM_RATE_LIMITED", isRetryable: true },
    ],
    [
      "an overload in a stream",
      { type: "overloaded_error", message: "" },
      { code: "LLM_RATE_LIMITED", isRetryable: true },
    ],
    [
      "an overload that its package marks as not retryable",
      { type: "overloaded_error", isRetryable: false },
      { isRetryable: true },
    ],
    [
      "an exceeded quota",
      apiError(429, { error: { code: "insufficient_quota" } }),
      { reason: "NO_CREDIT", isRetryable: false },
    ],
    [
      "missing credit",
      apiError(400, { error: { message: "Your credit balance is too low" } }),
      { reason: "NO_CREDIT" },
    ],
    ["a wrong key", apiError(401, {}), { reason: "NOT_ALLOWED", isRetryable: false }],
    ["a missing key", new LoadAPIKeyError({ message: "OPENAI_API_KEY" }), { reason: "NOT_ALLOWED" }],
    [
      "a bad request",
      apiError(400, { error: { message: "bad" } }),
      { reason: "BAD_REQUEST", isRetryable: false },
    ],
    ["an invalid prompt", new InvalidPromptError({ prompt: [], message: "x" }), { reason: "BAD_REQUEST" }],
    [
      "an unsupported feature",
      new UnsupportedFunctionalityError({ functionality: "x" }),
      { reason: "BAD_REQUEST" },
    ],
    ["a bad gateway", apiError(502, {}), { code: "LLM_ERROR", isRetryable: true, status: 502 }],
    ["a gateway timeout", apiError(408, {}), { reason: "PROVIDER_FAILED", isRetryable: true }],
    ["an empty body", new EmptyResponseBodyError(), { reason: "BROKEN_OFF", isRetryable: true }],
    [
      "a connection reset",
      withCode("read ECONNRESET", "ECONNRESET"),
      { reason: "UNREACHABLE", isRetryable: true },
    ],
    [
      "a name that is not found",
      new TypeError("fetch failed", { cause: withCode("x", "ENOTFOUND") }),
      { reason: "UNREACHABLE" },
    ],
    ["a closed connection", new TypeError("terminated"), { reason: "UNREACHABLE", isRetryable: true }],
    [
      "a wrapped connection reset",
      new Error("a", { cause: new Error("b", { cause: withCode("c", "UND_ERR_SOCKET") }) }),
      { reason: "UNREACHABLE" },
    ],
    ["a string", "server_error", { reason: "PROVIDER_FAILED", isRetryable: true }],
    [
      "a bug",
      new TypeError("x is not a function"),
      { code: "LLM_ERROR", reason: "UNKNOWN", isRetryable: false },
    ],
    ["null", null, { code: "LLM_ERROR", reason: "UNKNOWN" }],
  ];
  test.each(cases)("%s", (_, error, expected) => {
    const made = modelErrorFrom(error);
    expect(made).toMatchObject(expected);
    for (const secret of ["sk-123", "secret.example", "of a user"])
      expect(made.message).not.toContain(secret);
    expect(made.cause).toBe(error ?? null);
  });

  test("a ModelError to itself", () => {
    const error = new ModelError("SILENT");
    expect(modelErrorFrom(error)).toBe(error);
  });

  test("an error with a circular cause", () => {
    const error = new Error("x");
    error.cause = error;
    expect(modelErrorFrom(error).reason).toBe("UNKNOWN");
  });

  test("an error by its response only, not by its request", () => {
    expect(modelErrorFrom(apiError(400, {})).reason).toBe("BAD_REQUEST");
  });
});

describe("retryAfterOf", () => {
  const date = "Sun, 15 Nov 2026 08:00:00 GMT";
  test.each<[Record<string, string>, number | null]>([
    [{}, null],
    [{ "retry-after": "2" }, 2000],
    [{ "retry-after": "0.25" }, 250],
    [{ "retry-after-ms": "40", "retry-after": "2" }, 40],
    [{ "retry-after": "Sun, 15 Nov 2026 08:00:30 GMT", date }, 30_000],
    [{ "retry-after": "Sun, 15 Nov 2026 07:00:30 GMT", date }, 0],
    [{ "retry-after": "Sun, 15 Nov 2026 08:00:30 GMT" }, null],
    [{ "retry-after": "-5" }, null],
    [{ "retry-after": "soon", date }, null],
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2.5s" }, 62_500],
    [{ "x-ratelimit-remaining-requests": "4", "x-ratelimit-reset-requests": "1m" }, null],
    [
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "20ms",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6s",
      },
      6000,
    ],
    [
      {
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2026-11-15T08:00:09Z",
        date,
      },
      9000,
    ],
  ])("%j: %s", (headers, expected) => {
    expect(retryAfterOf(headers)).toBe(expected);
  });
});
