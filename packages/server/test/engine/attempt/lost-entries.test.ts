/** Tests that an attempt notices when the store has lost an entry of its journal, as a failover can do. In memory. */
import { expect, test } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { SecurityEvent } from "../../../src/util/security-event.ts";
import { TurnHarness } from "../turn-harness.ts";

test("an attempt ends when the store has lost its entry, and the next one leaves no gap", async () => {
  const store = createMemoryStore();
  const lost: string[] = [];
  const write: typeof store.archive.write = (ref, { journal = [], ...batch }) => {
    if (lost.length > 0) return store.archive.write(ref, { ...batch, journal });
    lost.push(...journal.map(({ key }) => key));
    return store.archive.write(ref, batch);
  };
  let journal: string[] = [];
  const transaction: typeof store.transaction = async (work) => {
    const running = await store.running.get(ref);
    if (running !== null) journal = (await store.journal.read(ref, running.turn)).map(({ key }) => key);
    return store.transaction(work);
  };
  const parts = {
    log: createMemoryLog(),
    store: { ...store, archive: { ...store.archive, write }, transaction },
    signals: createMemorySignals(),
  };
  const harness = await TurnHarness.open(parts);
  const ref = await harness.session();
  let orders = 0;
  const order = tool({ run: () => `order ${++orders}` });
  const model = scriptedModel(({ step }) =>
    step === 0 ? [script.toolCall("order", {})] : [script.text("Done.")],
  );
  const events: SecurityEvent[] = [];
  await harness.worker([defineAgent({ name: "a", model, tools: { order }, title: false })], {
    onSecurityEvent: (event) => void events.push(event),
  });
  const turn = await harness.ask(ref, "go");
  expect(turn.status).toBe("end_turn");
  expect(events).toMatchObject([{ type: "writer_fenced", reason: "journal" }]);
  expect(lost).toEqual(["pinned/main", "step/main/0"]);
  expect(journal.map((key) => key.split("/")[0])).toEqual(["pinned", "step", "start", "call"]);
  expect(orders).toBe(1);
  await harness.close();
});

test("a tool whose start the store has lost is not run again, because the log has it", async () => {
  const store = createMemoryStore();
  const lost: string[] = [];
  const write: typeof store.journal.write = async (ref, ...entries) => {
    if (lost.length > 0) return store.journal.write(ref, ...entries);
    lost.push(...entries.map(({ key }) => key));
    return "written";
  };
  const parts = {
    log: createMemoryLog(),
    store: { ...store, journal: { ...store.journal, write } },
    signals: createMemorySignals(),
  };
  const harness = await TurnHarness.open(parts);
  let orders = 0;
  const order = tool({ run: () => `order ${++orders}` });
  const results: unknown[] = [];
  const model = scriptedModel(({ step, prompt }) => {
    if (step === 0) return [script.toolCall("order", {})];
    results.push(prompt);
    return [script.text("Done.")];
  });
  await harness.worker([defineAgent({ name: "a", model, tools: { order }, title: false })]);
  const turn = await harness.ask(await harness.session(), "go");
  expect(turn.status).toBe("end_turn");
  expect(lost).toEqual([expect.stringMatching(/^start\//)]);
  expect(orders).toBe(1);
  expect(JSON.stringify(results)).toContain("The tool order was interrupted while it ran");
  await harness.close();
});
