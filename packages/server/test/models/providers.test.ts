/**
 * Tests models through the real packages of OpenAI and Anthropic, against local servers with their wire formats. Every
 * response and every fault looks the same for all providers, and no connection stays open.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { startAnthropicServer } from "@turnstream/testkit/model-servers/anthropic-server.ts";
import type { ModelServer, Reply } from "@turnstream/testkit/model-servers/model-server.ts";
import { startOpenaiServer } from "@turnstream/testkit/model-servers/openai-server.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { askModel } from "../../src/models/ask-model.ts";
import { ModelError } from "../../src/models/errors.ts";
import type { Model, ModelTool, Prompt } from "../../src/models/model.ts";
import { callsOf, readParts, hello, textOf } from "./read-parts.ts";

interface Provider {
  readonly name: string;
  readonly start: () => Promise<ModelServer>;
  readonly model: (baseURL: string) => Model;
  /** Whether the provider shows the model's thinking. */
  readonly thinks: boolean;
}

const apiKey = "sk-secret-key";
const whole: Reply = {
  parts: [
    { type: "thinking", text: "Let me think about it…", signature: "sig-1" },
    { type: "text", text: "Héllo wörld 😀, how are you?" },
  ],
  usage: { input: 31, output: 47 },
};

const PROVIDERS: Provider[] = [
  {
    name: "openai responses",
    start: () => startOpenaiServer(() => whole),
    model: (baseURL) => createOpenAI({ baseURL, apiKey })("gpt-5"),
    thinks: true,
  },
  {
    name: "openai chat",
    start: () => startOpenaiServer(() => whole),
    model: (baseURL) => createOpenAI({ baseURL, apiKey }).chat("gpt-5"),
    thinks: false,
  },
  {
    name: "anthropic",
    start: () => startAnthropicServer(() => whole),
    model: (baseURL) => createAnthropic({ baseURL, apiKey })("claude-sonnet-4-5"),
    thinks: true,
  },
];

const tools: ModelTool[] = [
  {
    type: "function",
    name: "weather",
    description: "Returns the weather",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];
const parallel: Reply = {
  parts: [
    { type: "text", text: "I look." },
    { type: "call", id: "call_1", name: "weather", input: '{"city":"Oslo"}' },
    { type: "call", id: "call_2", name: "weather", input: '{"city":"São Paulo"}' },
  ],
};
const results: Prompt = [
  { role: "system", content: "Be brief." },
  ...hello,
  {
    role: "assistant",
    content: [
      { type: "text", text: "I look." },
      { type: "tool-call", toolCallId: "call_1", toolName: "weather", input: { city: "Oslo" } },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "call_1",
        toolName: "weather",
        output: { type: "text", value: "sunny in Oslo" },
      },
    ],
  },
];

function status(code: number, type: string, message = "no", headers = {}): Reply {
  return { status: code, error: { type, message }, headers };
}

function noneRunning(server: ModelServer): Promise<void> {
  return until("every request to end", () => server.running === 0, { timeoutMs: 30_000 });
}

describe.each(PROVIDERS)("$name", ({ start, model: modelAt, thinks }) => {
  let server: ModelServer;
  let model: Model;

  beforeAll(async () => {
    server = await start();
    model = modelAt(server.baseUrl);
  });
  afterEach(() => noneRunning(server));
  afterAll(() => server.close());

  describe("responses:", () => {
    const kinds: [string, Reply][] = [
      ["in one chunk", whole],
      ["one byte at a time", { ...whole, isBytewise: true, chunk: 9 }],
      ["slowly", { ...whole, paceMs: 3 }],
      ["one character in each event", { ...whole, chunk: 1 }],
    ];
    test.each(kinds)("text, thinking and usage, %s", async (_, reply) => {
      server.enqueue(reply);
      const { parts, error } = await readParts(model);
      expect(error).toBeNull();
      expect(textOf(parts)).toBe("Héllo wörld 😀, how are you?");
      expect(textOf(parts, "reasoning")).toBe(thinks ? "Let me think about it…" : "");
      expect(JSON.stringify(parts).includes("sig-1")).toBe(thinks);
      expect(parts.at(-1)).toMatchObject({
        type: "finish",
        finishReason: { unified: "stop" },
        usage: { inputTokens: { total: 31 }, outputTokens: { total: 47 } },
      });
    });

    test("parallel tool calls with streamed arguments", async () => {
      server.enqueue(parallel);
      const { parts, error } = await readParts(model, { tools });
      expect(error).toBeNull();
      expect(callsOf(parts)).toEqual([
        { id: "call_1", name: "weather", input: { city: "Oslo" } },
        { id: "call_2", name: "weather", input: { city: "São Paulo" } },
      ]);
      const streamed = parts.flatMap((part) =>
        part.type === "tool-input-delta" && part.id === "call_1" ? [part.delta] : [],
      );
      expect(streamed.join("")).toBe('{"city":"Oslo"}');
      expect(streamed.length).toBeGreaterThan(2);
      expect(parts.at(-1)).toMatchObject({ finishReason: { unified: "tool-calls" } });
    });

    test("a call without arguments", async () => {
      server.enqueue({ parts: [{ type: "call", id: "call_1", name: "weather", input: "{}" }] });
      expect(callsOf((await readParts(model, { tools })).parts)).toMatchObject([{ input: {} }]);
    });

    test("a response that ends at the length limit", async () => {
      server.enqueue({ parts: [{ type: "text", text: "cut" }], stop: "length" });
      const { parts, error } = await readParts(model);
      expect(error).toBeNull();
      expect(parts.at(-1)).toMatchObject({ finishReason: { unified: "length" } });
    });
  });

  test("sends tools, instructions and results to the server", async () => {
    await readParts(model, { prompt: results, tools });
    const request = server.requests.at(-1);
    const sent = JSON.stringify(request?.body);
    for (const text of ["Be brief.", "Hello", "Returns the weather", "call_1", "sunny in Oslo"])
      expect(sent).toContain(text);
    expect(JSON.stringify(request?.headers)).toContain(apiKey);
  });

  describe("faults:", () => {
    const text = "It starts well and then continues for a while";
    const parts: Reply["parts"] = [{ type: "text", text }];
    const tooLong = "This model's maximum context length is 128000 tokens; prompt is too long";
    const faults: [string, Reply, Partial<ModelError>][] = [
      [
        "429 with seconds",
        status(429, "rate_limit_error", "slow", { "retry-after": "7" }),
        { code: "LLM_RATE_LIMITED", isRetryable: true, retryAfterMs: 7000, status: 429 },
      ],
      [
        "429 with milliseconds",
        status(429, "rate_limit_error", "slow", { "retry-after-ms": "1234", "retry-after": "2" }),
        { code: "LLM_RATE_LIMITED", retryAfterMs: 1234 },
      ],
      [
        "429 with a date",
        status(429, "rate_limit_error", "slow", {
          date: "Sun, 15 Nov 2026 08:00:00 GMT",
          "retry-after": "Sun, 15 Nov 2026 08:00:20 GMT",
        }),
        { code: "LLM_RATE_LIMITED", retryAfterMs: 20_000 },
      ],
      [
        "529",
        status(529, "overloaded_error"),
        { code: "LLM_RATE_LIMITED", reason: "OVERLOADED", isRetryable: true, status: 529 },
      ],
      ["500", status(500, "api_error"), { code: "LLM_ERROR", isRetryable: true, status: 500 }],
      ["401", status(401, "authentication_error"), { reason: "NOT_ALLOWED", isRetryable: false }],
      ["404", status(404, "not_found_error"), { reason: "NO_SUCH_MODEL", isRetryable: false }],
      ["400", status(400, "invalid_request_error"), { reason: "BAD_REQUEST", isRetryable: false }],
      [
        "a prompt that is too long",
        status(400, "invalid_request_error", tooLong),
        { code: "CONTEXT_TOO_LONG" },
      ],
      ["no credit", status(429, "insufficient_quota"), { reason: "NO_CREDIT", isRetryable: false }],
      ["refused", { parts, stop: "refusal" }, { code: "LLM_REFUSED", isRetryable: false }],
      [
        "refused before the stream",
        status(400, "invalid_request_error", "Output blocked by content filtering policy"),
        { code: "LLM_REFUSED" },
      ],
      ["cut at the start", { parts, cutAfterBytes: 1 }, { reason: "UNREACHABLE", isRetryable: true }],
      ["cut in the middle", { parts, cutAfterBytes: 1400 }, { reason: "UNREACHABLE", isRetryable: true }],
      ["ended early", { parts, at: { event: 8, do: "end" } }, { reason: "BROKEN_OFF", isRetryable: true }],
      [
        "ended at the start",
        { parts, at: { event: 0, do: "end" } },
        { reason: "BROKEN_OFF", isRetryable: true },
      ],
      ["garbage", { parts, at: { event: 8, do: "garbage" } }, { reason: "MALFORMED", isRetryable: true }],
      ["garbage at the start", { parts, at: { event: 0, do: "garbage" } }, { reason: "MALFORMED" }],
      [
        "an error in the stream",
        { parts, at: { event: 8, do: "error" }, error: { type: "overloaded_error", message: "Overloaded" } },
        { code: "LLM_RATE_LIMITED", reason: "OVERLOADED", isRetryable: true },
      ],
      [
        "an error at the start of the stream",
        { parts, at: { event: 1, do: "error" }, error: { type: "overloaded_error", message: "Overloaded" } },
        { code: "LLM_RATE_LIMITED", reason: "OVERLOADED", isRetryable: true },
      ],
      ["never responds", { isSilent: true }, { reason: "SILENT", isRetryable: true }],
      ["stops responding", { parts, at: { event: 8, do: "stall" } }, { reason: "SILENT", isRetryable: true }],
    ];
    test.each(faults)("%s", async (_, reply, expected) => {
      server.enqueue(reply);
      // A busy machine may need seconds for an answer. Only a server that is silent has to be waited for.
      const idleMs = expected.reason !== "SILENT" ? 60_000 : reply.isSilent === true ? 300 : 2_000;
      const { parts: received, error } = await readParts(model, {}, { idleMs });
      expect(error).toBeInstanceOf(ModelError);
      expect(error).toMatchObject(expected);
      expect(text.startsWith(textOf(received))).toBe(true);
      // The text before the fault is not lost.
      expect(textOf(received).length > 0).toBe(
        (reply.at?.event ?? reply.cutAfterBytes ?? 0) > 1 || reply.stop === "refusal",
      );
      const { message } = error as ModelError;
      for (const secret of [apiKey, server.baseUrl, "Hello"]) expect(message).not.toContain(secret);
    });

    test("no server", async () => {
      const closed = await start();
      await closed.close();
      expect((await readParts(modelAt(closed.baseUrl))).error).toMatchObject({
        reason: "UNREACHABLE",
        isRetryable: true,
      });
    });
  });

  describe("leaves no request open", () => {
    const long: Reply = { parts: [{ type: "text", text: "x".repeat(2000) }], chunk: 1, paceMs: 5 };

    test.each<[string, Reply]>([
      ["a slow response", long],
      ["a stalled response", { ...long, paceMs: 0, at: { event: 20, do: "stall" } }],
      ["no response", { isSilent: true }],
    ])("when the signal is aborted during %s", async (_, reply) => {
      server.enqueue(reply);
      const stop = new AbortController();
      const reason = new Error("stopped by the user");
      const reading = readParts(model, {}, { signal: stop.signal });
      await expect.poll(() => server.running).toBe(1);
      stop.abort(reason);
      expect((await reading).error).toBe(reason);
      await noneRunning(server);
    });

    test("when the reader stops", async () => {
      server.enqueue(long);
      const { signal } = new AbortController();
      let received = 0;
      for await (const part of askModel(model, { prompt: hello }, { signal }))
        if (part.type === "text-delta" && ++received === 3) break;
      expect(received).toBe(3);
      await noneRunning(server);
    });
  });

  test("consecutive calls reuse one connection", async () => {
    const own = await start();
    const again = modelAt(own.baseUrl);
    for (let count = 0; count < 10; count++) {
      own.enqueue({ ...whole, lingerMs: 30 });
      expect((await readParts(again)).error).toBeNull();
      await noneRunning(own);
    }
    expect(own.accepted).toBeLessThanOrEqual(2);
    await own.close();
  });
});
