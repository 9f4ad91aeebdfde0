/**
 * Tests that results of tools are stored once: the journal of an ended turn refers to the archived events, and later
 * turns, retries and readers of the turn still get the whole result.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryLog } from "../../../src/log/memory.ts";
import type { Prompt } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { readTurnResult } from "../../../src/session/history/turn-result.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { TurnHarness } from "../turn-harness.ts";

let harness: TurnHarness;
beforeEach(async () => {
  const parts = { log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() };
  harness = await TurnHarness.open(parts);
});
afterEach(() => harness.close());

const QUICK = "quick result ".repeat(150);
const ONCE = { rows: Array.from({ length: 50 }, (_, n) => ({ n, text: `row ${n}` })) };
const input = z.object({});
const quick = tool({ input, idempotent: true, run: () => QUICK });
const once = tool({ input, idempotent: false, run: () => ONCE });

describe("journaled results", () => {
  it("refer to the archived events after the turn, and later turns read them whole", async () => {
    const prompts: Prompt[] = [];
    const model = scriptedModel(({ step, prompt }) => {
      prompts.push(structuredClone(prompt));
      if (step === 0 && prompts.length === 1)
        return [script.toolCall("quick", {}), script.toolCall("once", {})];
      return [script.text("Done.")];
    });
    await harness.worker([defineAgent({ name: "a", model, tools: { quick, once }, title: false })]);
    const ref = await harness.session();
    const { store } = harness.backend;
    const turn = await harness.ask(ref, "go");
    const retained = await store.journal.retained(ref, [turn.id]);
    const results = retained.filter(({ key }) => key.startsWith("call/"));
    expect(results).toHaveLength(2);
    for (const { value } of results) expect(JSON.stringify(value).length).toBeLessThan(100);

    await harness.ask(ref, "and now?");
    const outputs = (prompts.at(-1) ?? []).flatMap((message) =>
      message.role === "tool"
        ? message.content.flatMap((part) => ("output" in part ? [part.output] : []))
        : [],
    );
    expect(outputs).toEqual([
      { type: "text", value: QUICK },
      { type: "json", value: ONCE },
    ]);
    const end = await readTurnResult(harness.backend, ref, { turn: turn.id });
    expect(JSON.stringify(end)).toContain(QUICK);
  });
});
