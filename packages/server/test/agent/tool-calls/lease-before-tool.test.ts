/** Tests that a worker which was frozen renews its lease before it runs a tool. */
import { afterEach, expect, test, vi } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { TurnHarness } from "../../engine/turn-harness.ts";

afterEach(() => void vi.useRealTimers());

test("a tool runs only after a lease in doubt is renewed", async () => {
  const seen: string[] = [];
  const store = createMemoryStore();
  const leases: typeof store.leases = {
    ...store.leases,
    renew: (...args) => {
      if (seen.at(-1) === "frozen") seen.push("renewed");
      return store.leases.renew(...args);
    },
  };
  const parts = { log: createMemoryLog(), store: { ...store, leases }, signals: createMemorySignals() };
  const harness = await TurnHarness.open(parts);
  // The runtime asks this right before the call, so here the process freezes for an hour, which is longer than a lease.
  const idempotent = () => {
    vi.advanceTimersByTime(3_600_000);
    seen.push("frozen");
    return false;
  };
  const order = tool({ idempotent, run: () => void seen.push("ordered") });
  const model = scriptedModel(({ step }) =>
    step === 0 ? [script.toolCall("order", {})] : [script.text("Done.")],
  );
  vi.useFakeTimers({ toFake: ["performance"] });
  await harness.worker([defineAgent({ name: "a", model, tools: { order }, title: false })]);
  await harness.ask(await harness.session(), "go");
  expect(seen.slice(seen.lastIndexOf("frozen"))).toEqual(["frozen", "renewed", "ordered"]);
  await harness.close();
});
