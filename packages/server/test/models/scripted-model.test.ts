/** Tests `scriptedModel`: it selects the right response, splits it into parts, and simulates every failure. */
import { describe, expect, test } from "vitest";

import { askModel } from "../../src/models/ask-model.ts";
import type { Prompt, StreamPart } from "../../src/models/model.ts";
import { type ScriptedReply, script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { callsOf, readParts, hello, textOf } from "./read-parts.ts";

const answered: Prompt = [
  ...hello,
  { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "look", input: {} }] },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "c", toolName: "look", output: { type: "text", value: "x" } },
    ],
  },
];

describe("scriptedModel selects the response", () => {
  const model = scriptedModel([[script.toolCall("look")], [script.text("second")]]);

  test("by the conversation, not by the number of calls", async () => {
    for (let times = 0; times < 3; times++) {
      expect(callsOf((await readParts(model)).parts)).toEqual([
        { id: "call_1_0_0", name: "look", input: {} },
      ]);
      expect(textOf((await readParts(model, { prompt: answered })).parts)).toBe("second");
    }
  });

  test("from the first one again after another message of the user", async () => {
    const { parts } = await readParts(model, { prompt: [...answered, ...hello] });
    expect(callsOf(parts)).toEqual([{ id: "call_2_0_0", name: "look", input: {} }]);
  });

  test("with a function of the call's options", async () => {
    const echo = scriptedModel(({ text, step, turn }) => [script.text(`${text} ${step} ${turn}`)]);
    expect(textOf((await readParts(echo, { prompt: answered })).parts)).toBe("Hello 1 1");
  });

  test("or throws an error that names the missing response", async () => {
    const { error } = await readParts(scriptedModel([]));
    expect(error).toMatchObject({ code: "LLM_ERROR", isRetryable: false });
    expect((error as Error).cause).toMatchObject({ message: expect.stringContaining("no answer 1") });
  });
});

describe("response of a scripted model", () => {
  test("has parts with start, delta and end, and the usage", async () => {
    const model = scriptedModel([
      [
        script.reasoning("hm", { signature: "sig" }),
        script.text("abcdef"),
        script.toolCall("look", { a: 1 }, { id: "c1", chunks: 2 }),
      ],
    ]);
    const { parts, error } = await readParts(model);
    expect(error).toBeNull();
    expect(parts).toEqual([
      { type: "stream-start", warnings: [] },
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "hm" },
      { type: "reasoning-end", id: "0", providerMetadata: { scripted: { signature: "sig" } } },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "abcd" },
      { type: "text-delta", id: "1", delta: "ef" },
      { type: "text-end", id: "1" },
      { type: "tool-input-start", id: "c1", toolName: "look" },
      { type: "tool-input-delta", id: "c1", delta: '{"a"' },
      { type: "tool-input-delta", id: "c1", delta: ":1}" },
      { type: "tool-input-end", id: "c1" },
      { type: "tool-call", toolCallId: "c1", toolName: "look", input: '{"a":1}' },
      {
        type: "finish",
        finishReason: { unified: "tool-calls", raw: "tool-calls" },
        usage: {
          inputTokens: { total: 2, noCache: 2, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 5, text: 4, reasoning: 1 },
        },
      },
    ]);
  });

  test("never splits a character", async () => {
    const { parts } = await readParts(scriptedModel([[script.text("a😀b😀😀", { chunk: 1 })]]));
    const deltas = parts.flatMap((part) => (part.type === "text-delta" ? [part.delta] : []));
    expect(deltas).toEqual(["a", "😀", "b", "😀", "😀"]);
  });

  test("finishes with the given reason", async () => {
    const model = scriptedModel([
      [script.text("x"), script.finish({ reason: "length", inputTokens: 7, outputTokens: 9 })],
    ]);
    const { parts } = await readParts(model);
    expect(parts.at(-1)).toMatchObject({
      finishReason: { unified: "length" },
      usage: { inputTokens: { total: 7 }, outputTokens: { total: 9 } },
    });
  });

  test("is paced by the given timer", async () => {
    const waits: number[] = [];
    const model = scriptedModel(
      [[script.delay(500), script.text("abcdef", { paceMs: 20 }), script.toolCall("t", {}, { paceMs: 7 })]],
      {
        sleep: async (ms) => waits.push(ms),
      },
    );
    expect(textOf((await readParts(model)).parts)).toBe("abcdef");
    expect(waits).toEqual([500, 20, 20, 7]);
  });

  test("of many parts is complete and in order", async () => {
    const text = Array.from({ length: 5000 }, (_, index) => String(index)).join(" ");
    expect(textOf((await readParts(scriptedModel([[script.text(text, { chunk: 1 })]]))).parts)).toBe(text);
  });
});

function failing(): ScriptedReply {
  return [script.error({ status: 500 }, { times: 2 }), script.text("ok"), script.disconnect({ times: 1 })];
}

describe("failures of a scripted model", () => {
  test("at the start reject the call with the provider's error", async () => {
    const { parts, error } = await readParts(
      scriptedModel([[script.error({ status: 429, retryAfterMs: 1500 }), script.text("x")]]),
    );
    expect(parts).toEqual([]);
    expect(error).toMatchObject({
      code: "LLM_RATE_LIMITED",
      isRetryable: true,
      retryAfterMs: 1500,
      status: 429,
    });
  });

  test("later in the stream follow everything before them", async () => {
    const { parts, error } = await readParts(
      scriptedModel([[script.text("abcdefgh"), script.error({ status: 529 })]]),
    );
    expect(textOf(parts)).toBe("abcdefgh");
    expect(error).toMatchObject({ code: "LLM_RATE_LIMITED", status: 529, isRetryable: true });
  });

  test("lose nothing that was sent before a broken connection", async () => {
    for (const text of ["", "abcd", "x".repeat(1000)]) {
      const { parts, error } = await readParts(
        scriptedModel([[script.text(text), script.disconnect(), script.text("never")]]),
      );
      expect(textOf(parts)).toBe(text);
      expect(error).toMatchObject({ code: "LLM_ERROR", reason: "UNREACHABLE", isRetryable: true });
    }
  });

  test("occur only as often as given, also when a function creates them each time", async () => {
    for (const model of [scriptedModel([failing()]), scriptedModel(failing)]) {
      const errors: unknown[] = [];
      for (let asked = 0; asked < 4; asked++) errors.push((await readParts(model)).error);
      expect(errors.slice(0, 3)).toMatchObject([{ status: 500 }, { status: 500 }, { reason: "UNREACHABLE" }]);
      expect(errors[3]).toBeNull();
    }
  });

  test("hang until the signal is aborted or the reader stops", async () => {
    const stop = new AbortController();
    const parts: StreamPart[] = [];
    const read = async () => {
      const model = scriptedModel([[script.text("ab"), script.hang()]]);
      for await (const part of askModel(model, { prompt: hello }, { signal: stop.signal })) {
        parts.push(part);
        if (part.type === "text-end") stop.abort(new Error("enough"));
      }
    };
    await expect(read()).rejects.toThrow("enough");
    expect(textOf(parts)).toBe("ab");
    expect((await readParts(scriptedModel([[script.hang()]]), {}, { idleMs: 20 })).error).toMatchObject({
      reason: "SILENT",
    });
  });
});
