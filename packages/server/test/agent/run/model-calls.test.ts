/** Tests the cached answers of model calls: reading again, streaming on without a reader, and the bounds of memory. */
import { expect, test } from "vitest";
import type { Prompt, StreamPart } from "../../../src/models/model.ts";
import { type AskModel, ModelCallMemory, ModelCalls } from "../../../src/agent/run/model-calls.ts";

const prompt: Prompt = [{ role: "user", content: [{ type: "text", text: "hello" }] }];
const delta = (text: string): StreamPart => ({ type: "text-delta", id: "1", delta: text });

/** A provider that sends a part for each `send`. */
function provider() {
  const state = {
    asked: 0,
    signal: null as AbortSignal | null,
    send: (_part: StreamPart): Promise<void> | undefined => undefined,
    end: (): void => {},
    fail: (_error: unknown): void => {},
  };
  const ask: AskModel = (signal, onPart) => {
    state.asked++;
    state.signal = signal;
    state.send = onPart;
    return new Promise((resolve, reject) => {
      state.end = resolve;
      state.fail = reject;
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  };
  return Object.assign(state, { ask });
}

async function texts(parts: AsyncIterable<StreamPart>): Promise<string[]> {
  const found: string[] = [];
  for await (const part of parts) if (part.type === "text-delta") found.push(part.delta);
  return found;
}

const never = new AbortController().signal;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("the next attempt reads an answer from its start, and it streams on while no attempt reads", async () => {
  const model = provider();
  const calls = new ModelCalls(new ModelCallMemory());
  const first = new AbortController();
  const reading = texts(calls.read("step/main/0", prompt, first.signal, model.ask));
  await model.send(delta("a"));
  first.abort(new Error("Redis was restarted"));
  await expect(reading).rejects.toThrow("Redis was restarted");
  expect(model.signal?.aborted).toBe(false);
  await model.send(delta("b"));
  expect(calls.has("step/main/0")).toBe(true);
  const again = texts(calls.read("step/main/0", structuredClone(prompt), never, model.ask));
  await tick();
  await model.send(delta("c"));
  model.end();
  expect(await again).toEqual(["a", "b", "c"]);
  expect(await texts(calls.read("step/main/0", prompt, never, model.ask))).toEqual(["a", "b", "c"]);
  expect(model.asked).toBe(1);
});

test("another prompt and another step are asked by themselves", async () => {
  const models = [provider(), provider(), provider()];
  const calls = new ModelCalls(new ModelCallMemory());
  const other: Prompt = [{ role: "user", content: [{ type: "text", text: "bye" }] }];
  const [first, step, changed] = models;
  const replaced = texts(calls.read("0", prompt, never, first?.ask as AskModel)).catch(() => "replaced");
  void texts(calls.read("1", prompt, never, step?.ask as AskModel)).catch(() => {});
  void texts(calls.read("0", other, never, changed?.ask as AskModel)).catch(() => {});
  expect(models.map(({ asked }) => asked)).toEqual([1, 1, 1]);
  expect(first?.signal?.aborted).toBe(true);
  expect(await replaced).toBe("replaced");
  calls.close(new Error("over"));
});

test("a failed call is not cached: its reader gets the parts and then the error, and the next one asks again", async () => {
  const model = provider();
  const calls = new ModelCalls(new ModelCallMemory());
  const seen: string[] = [];
  const reading = (async () => {
    for await (const part of calls.read("0", prompt, never, model.ask)) seen.push(part.type);
  })();
  await model.send(delta("a"));
  model.fail(new Error("broken off"));
  await expect(reading).rejects.toThrow("broken off");
  expect(seen).toEqual(["text-delta"]);
  expect(calls.has("0")).toBe(false);
  const again = texts(calls.read("0", prompt, never, model.ask));
  expect(model.asked).toBe(2);
  model.end();
  expect(await again).toEqual([]);
});

test("the end of the turn aborts running calls and frees their memory", async () => {
  const model = provider();
  const memory = new ModelCallMemory();
  const calls = new ModelCalls(memory);
  const reading = texts(calls.read("0", prompt, never, model.ask));
  await model.send(delta("a"));
  expect(memory.used).toBeGreaterThan(0);
  calls.close(new Error("over"));
  await expect(reading).rejects.toThrow("over");
  expect(model.signal?.aborted).toBe(true);
  expect(memory.used).toBe(0);
  expect(() => calls.read("1", prompt, never, model.ask)).toThrow("over");
});

test("when the memory of the process is full, an answer can be read once, and costs nothing afterwards", async () => {
  const [full, model] = [provider(), provider()];
  const memory = new ModelCallMemory(1_000);
  const [others, calls] = [new ModelCalls(memory), new ModelCalls(memory)];
  void texts(others.read("0", prompt, never, full.ask)).catch(() => {});
  await full.send(delta("x".repeat(900)));
  const reading = texts(calls.read("0", prompt, never, model.ask));
  for (let n = 0; n < 50; n++) {
    await model.send(delta("y".repeat(10)));
    expect(memory.used).toBeLessThanOrEqual(1_000);
  }
  model.end();
  expect((await reading).join("")).toBe("y".repeat(500));
  expect(calls.has("0")).toBe(false);
  expect(others.has("0")).toBe(true);
  others.delete("0");
  expect(memory.used).toBe(0);
});

test("a provider waits while more is buffered than an attempt reads", async () => {
  const model = provider();
  const calls = new ModelCalls(new ModelCallMemory(), { maxUnread: 1_000 });
  const parts = calls.read("0", prompt, never, model.ask);
  let paused: Promise<void> | undefined;
  let sent = 0;
  while ((paused = model.send(delta("z".repeat(100)))) === undefined) sent++;
  expect(sent).toBeLessThan(10);
  let isResumed = false;
  void paused.then(() => (isResumed = true));
  await tick();
  expect(isResumed).toBe(false);
  await parts.next();
  await tick();
  expect(isResumed).toBe(true);
  calls.close(new Error("over"));
});
