/** Runs the contract of the engine on the memory engine, and tests a recovery while the other engine is alive. */
import { expect, test, vi } from "vitest";

import type { JobHandler } from "../../src/engine/engine.ts";
import { createMemoryEngine, createMemoryEngineHub } from "../../src/engine/memory.ts";
import { describeEngine } from "./engine.contract.ts";

describeEngine("inline", async () => {
  const hub = createMemoryEngineHub();
  return { open: async (options) => createMemoryEngine({ ...options, hub }) };
});

const soon = { timeout: 30_000 };

test("the result of a zombie is ignored once another engine has recovered its job", async () => {
  const hub = createMemoryEngineHub();
  let over = false;
  const work: JobHandler = async () => {
    await vi.waitUntil(() => over, soon);
  };
  const zombie = createMemoryEngine({ hub, work });
  const other = createMemoryEngine({ hub, work: () => new Promise(() => undefined) });
  await zombie.start("s/a");
  await vi.waitUntil(() => zombie.running === 1, soon);
  await Promise.resolve();
  expect(await other.recover(zombie.executor)).toBe(1);
  over = true;
  await vi.waitUntil(() => zombie.running === 0, soon);
  await Promise.resolve();
  expect(await other.isRunning("s/a")).toBe(true);
});
