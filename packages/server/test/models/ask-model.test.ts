/**
 * Tests `askModel`: which errors it throws, and that it leaves nothing open, however the response or the reading ends.
 */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { askModel } from "../../src/models/ask-model.ts";
import { ModelError } from "../../src/models/errors.ts";
import type { FinishReason, Model } from "../../src/models/model.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { readParts, hello, textOf } from "./read-parts.ts";

type Options = Parameters<Model["doStream"]>[0];

function modelOf(doStream: (options: Options) => ReadableStream | Promise<ReadableStream>): Model {
  return { ...scriptedModel([]), doStream: async (options) => ({ stream: await doStream(options) }) };
}

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const finish = (unified: FinishReason): LanguageModelV4StreamPart => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage,
});
const playing = (...parts: unknown[]): Model => modelOf(() => ReadableStream.from(parts));

interface Watched {
  readonly model: Model;
  readonly seen: { signal?: AbortSignal; isCancelled: boolean };
}

/** Sends one text delta, then nothing. It ignores the abort signal, as a faulty provider would. */
function deaf(): Watched {
  const seen: Watched["seen"] = { isCancelled: false };
  const model = modelOf(({ abortSignal }) => {
    if (abortSignal) seen.signal = abortSignal;
    return new ReadableStream({
      start(controller) {
        controller.enqueue({ type: "text-start", id: "0" });
        controller.enqueue({ type: "text-delta", id: "0", delta: "a" });
      },
      cancel() {
        seen.isCancelled = true;
      },
    });
  });
  return { model, seen };
}

describe("askModel throws a ModelError for", () => {
  const broken: [string, Model, Partial<ModelError>][] = [
    ["a rejected call", modelOf(() => Promise.reject(new Error("no"))), { reason: "UNKNOWN" }],
    [
      "a provider that throws synchronously",
      {
        ...scriptedModel([]),
        doStream() {
          throw new TypeError("fetch failed");
        },
      },
      { reason: "UNREACHABLE", isRetryable: true },
    ],
    ["a stream that ends without a finish", playing(), { reason: "BROKEN_OFF", isRetryable: true }],
    ["an error part", playing({ type: "error", error: "overloaded_error" }), { reason: "OVERLOADED" }],
    ["a finish after an interruption", playing(finish("interrupted")), { reason: "BROKEN_OFF", usage }],
    ["a finish with an error", playing(finish("error")), { reason: "PROVIDER_FAILED", usage }],
    ["a refusal", playing(finish("content-filter")), { code: "LLM_REFUSED", isRetryable: false, usage }],
    [
      "a delta without a start",
      playing({ type: "text-delta", id: "0", delta: "x" }),
      { reason: "MALFORMED" },
    ],
    ["an end without a start", playing({ type: "reasoning-end", id: "0" }), { reason: "MALFORMED" }],
    [
      "a block that starts twice",
      playing({ type: "tool-input-start", id: "0" }, { type: "tool-input-start", id: "0" }),
      { reason: "MALFORMED" },
    ],
    ["an invalid part", playing(17, finish("stop")), { code: "LLM_ERROR" }],
    ["no part before the idle timeout", modelOf(() => new Promise(() => {})), { reason: "SILENT" }],
    ["no further part before the idle timeout", deaf().model, { reason: "SILENT", isRetryable: true }],
  ];
  test.each(broken)("%s", async (_, model, expected) => {
    const { error } = await readParts(model, {}, { idleMs: 30 });
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject(expected);
  });
});

function useFakeTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("does not pass on keep-alive parts, but they reset the idle timeout", async () => {
  useFakeTimers();
  const model = modelOf(() =>
    ReadableStream.from(
      (async function* () {
        for (let count = 0; count < 12; count++) {
          await vi.advanceTimersByTimeAsync(300);
          yield { type: "ping" };
        }
        yield finish("stop");
      })(),
    ),
  );
  const { parts, error } = await readParts(model, {}, { idleMs: 400 });
  expect(error).toBeNull();
  expect(parts).toEqual([finish("stop")]);
});

test("does not apply the idle timeout to a slow reader", async () => {
  useFakeTimers();
  const parts: string[] = [];
  const signal = new AbortController().signal;
  for await (const part of askModel(
    scriptedModel([[script.text("ab")]]),
    { prompt: hello },
    { signal, idleMs: 20 },
  )) {
    await vi.advanceTimersByTimeAsync(50);
    parts.push(part.type);
  }
  expect(parts).toEqual(["stream-start", "text-start", "text-delta", "text-end", "finish"]);
});

describe("askModel leaves nothing open", () => {
  test("when the reader stops", async () => {
    const { model, seen } = deaf();
    for await (const part of askModel(model, { prompt: hello }, { signal: new AbortController().signal }))
      if (part.type === "text-delta") break;
    expect(seen).toMatchObject({ isCancelled: true, signal: { aborted: true } });
  });

  test("when the signal is aborted, and throws its reason", async () => {
    const { model, seen } = deaf();
    const stop = new AbortController();
    const reason = { why: "stopped by the user" };
    setImmediate(() => stop.abort(reason));
    const { parts, error } = await readParts(model, {}, { signal: stop.signal });
    expect(textOf(parts)).toBe("a");
    expect(error).toBe(reason);
    expect(seen).toMatchObject({ isCancelled: true, signal: { aborted: true } });
  });

  test("when the signal was aborted before: it makes no call", async () => {
    const { model, seen } = deaf();
    const { error } = await readParts(model, {}, { signal: AbortSignal.abort("before") });
    expect(error).toBe("before");
    expect(seen.signal).toBeUndefined();
  });

  test("when the signal is aborted before the provider returns its stream", async () => {
    let isCancelled = false;
    const late = new ReadableStream({ cancel: () => void (isCancelled = true) });
    let resolve!: (value: ReadableStream) => void;
    const promise = new Promise<ReadableStream>((done) => (resolve = done));
    const model = modelOf(() => promise);
    const stop = new AbortController();
    setImmediate(() => stop.abort("early"));
    expect((await readParts(model, {}, { signal: stop.signal })).error).toBe("early");
    expect(isCancelled).toBe(false);
    resolve(late);
    await expect.poll(() => isCancelled).toBe(true);
  });

  test("among the signal's listeners after a thousand calls", async () => {
    const stop = new AbortController();
    let listeners = 0;
    const { signal } = stop;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
    const model = scriptedModel([[script.text("a")]]);
    for (let count = 0; count < 1000; count++)
      expect((await readParts(model, {}, { signal })).error).toBeNull();
    expect(listeners).toBe(0);
  });
});
