/** Tests the concurrency limits of a worker and of one step, in memory. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import type { Model } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { TurnHarness } from "../../engine/turn-harness.ts";

let harness: TurnHarness;
beforeEach(async () => {
  harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
});
afterEach(() => harness.close());

const AT_ONCE = 2;
const WANTED = 6;
/** No worker dies here. On a busy machine, a short lease would only expire. */
const TTL_MS = 60_000;

/** Counts concurrent callers. The first ones wait for each other, so that the maximum is reached. */
function countConcurrent() {
  let inside = 0;
  let max = 0;
  return {
    max: () => max,
    stay: async (): Promise<void> => {
      max = Math.max(max, ++inside);
      await vi.waitUntil(() => max >= AT_ONCE, { timeout: 60_000 });
      // Others could come in now.
      for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
      inside--;
    },
  };
}

describe("worker", () => {
  it("makes at most `maxConcurrentModelCalls` model calls at a time", async () => {
    const { stay, max } = countConcurrent();
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
    await harness.worker([defineAgent({ name: "a", model })], {
      leaseTtlMs: TTL_MS,
      maxConcurrentModelCalls: AT_ONCE,
    });
    const turns = await Promise.all(
      Array.from({ length: WANTED }, async () => harness.ask(await harness.session(), "go")),
    );
    expect(turns.map(({ status }) => status)).toEqual(Array.from({ length: WANTED }, () => "end_turn"));
    expect(max()).toBe(AT_ONCE);
  });

  it.each([
    ["tools at a time than `maxConcurrentToolCalls`", { maxConcurrentToolCalls: AT_ONCE }, {}],
    ["parallel calls of a step than `limits.maxParallelCalls`", {}, { maxParallelCalls: AT_ONCE }],
  ])("runs no more %s", async (_, options, limits) => {
    const { stay, max } = countConcurrent();
    const work = tool({ idempotent: true, run: () => stay() });
    const model = scriptedModel([
      Array.from({ length: WANTED }, () => script.toolCall("work")),
      [script.text("done")],
    ]);
    await harness.worker([defineAgent({ name: "a", model, tools: { work }, limits })], {
      leaseTtlMs: TTL_MS,
      ...options,
    });
    expect((await harness.ask(await harness.session(), "go")).status).toBe("end_turn");
    expect(max()).toBe(AT_ONCE);
  });
});
