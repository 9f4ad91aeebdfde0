/** How much a worker, and one step of an agent, does at a time: never more than they were told to. In memory. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import type { Model } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/runtime/define/agent.ts";
import { tool } from "../../../src/runtime/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "../../../src/store/memory/store.ts";
import { Stage } from "../turn-harness.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
});
afterEach(() => stage.close());

const AT_ONCE = 2;
const WANTED = 6;
/** Nobody dies here: on a busy machine a short lease would only be lost. */
const TTL_MS = 60_000;

/** Counts who is in it. The first wait for each other, so that as many as may are in it at once. */
function room() {
  let inside = 0;
  let most = 0;
  return {
    most: () => most,
    stay: async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await vi.waitUntil(() => most >= AT_ONCE, { timeout: 30_000 });
      await sleep(20);
      inside--;
    },
  };
}

describe("a worker", () => {
  it("makes no more model calls at a time than `modelCalls`", async () => {
    const { stay, most } = room();
    const inner = scriptedModel([[script.text("done")]]);
    const model: Model = {
      specificationVersion: inner.specificationVersion,
      provider: inner.provider,
      modelId: inner.modelId,
      supportedUrls: inner.supportedUrls,
      doGenerate: (options) => inner.doGenerate(options),
      doStream: async (options) => {
        await stay();
        return inner.doStream(options);
      },
    };
    await stage.worker([defineAgent({ name: "a", model })], {
      leaseTtlMs: TTL_MS,
      maxConcurrentModelCalls: AT_ONCE,
    });
    const turns = await Promise.all(
      Array.from({ length: WANTED }, async () => stage.ask(await stage.session(), "go")),
    );
    expect(turns.map(({ status }) => status)).toEqual(Array.from({ length: WANTED }, () => "end_turn"));
    expect(most()).toBe(AT_ONCE);
  });

  it.each([
    ["tools at a time than `toolCalls`", { toolCalls: AT_ONCE }, {}],
    ["calls of a step side by side than `limits.width`", {}, { maxParallelCalls: AT_ONCE }],
  ])("runs no more %s", async (_, options, limits) => {
    const { stay, most } = room();
    const work = tool({ rerun: "always", run: () => stay() });
    const model = scriptedModel([
      Array.from({ length: WANTED }, () => script.toolCall("work")),
      [script.text("done")],
    ]);
    await stage.worker([defineAgent({ name: "a", model, tools: { work }, limits })], {
      leaseTtlMs: TTL_MS,
      ...options,
    });
    expect((await stage.ask(await stage.session(), "go")).status).toBe("end_turn");
    expect(most()).toBe(AT_ONCE);
  });
});
