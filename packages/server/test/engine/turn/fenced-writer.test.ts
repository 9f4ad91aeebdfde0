/** Tests that a worker reports a write in a session that another writer has taken over. In memory. */
import { listBlocks } from "@turnstream/protocol";
import { afterEach, expect, it } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { claimSession } from "../../../src/session/lifecycle/claim.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { SecurityEvent } from "../../../src/util/security-event.ts";
import { TurnHarness } from "../turn-harness.ts";

let harness: TurnHarness;
afterEach(() => harness.close());

it("reports the session once per refused attempt, and a hook that throws doesn't end the turn", async () => {
  const backend = { log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() };
  harness = await TurnHarness.open(backend);
  const events: SecurityEvent[] = [];
  const agent = defineAgent({
    name: "a",
    model: scriptedModel(() => [script.text("one two three four five six", { chunk: 4, paceMs: 30 })]),
  });
  await harness.worker([agent], {
    onSecurityEvent: (event) => {
      events.push(event);
      throw new Error("broken");
    },
  });
  const ref = await harness.session();
  const id = await harness.send(ref, "go");
  const turn = await harness.until(ref, 60_000, (state) => {
    const last = state.turns.last();
    return (last?.open ?? 0) > 0 ? (last ?? null) : null;
  });
  const blocks = listBlocks(turn).map((block) => block.id);
  const takeover = { type: "turn.takeover", turn: turn.id, blocks, groups: [], runs: [] } as const;
  await claimSession(backend, ref, { by: "other", event: takeover });
  const ended = await harness.ended(ref, ({ message }) => message?.id === id);
  expect(ended.status).toBe("end_turn");
  const { tenant, session } = ref;
  expect(events.length).toBeGreaterThan(0);
  for (const { reason, ...event } of events) {
    expect(["log", "journal"]).toContain(reason);
    expect(event).toEqual({ type: "writer_fenced", tenant, subject: session });
  }
  expect(harness.errors.map(({ during }) => during)).toEqual(events.map(() => "`onSecurityEvent`"));
});
