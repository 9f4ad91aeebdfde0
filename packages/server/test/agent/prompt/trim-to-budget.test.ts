/** Tests how a prompt that gets too long during a turn is trimmed, as a pure function and in one turn in memory. */
import { describe, expect, it } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import type { Prompt } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { estimateTokens, trimToBudget } from "../../../src/agent/prompt/trim-to-budget.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { TurnHarness } from "../../engine/turn-harness.ts";

const LONG = 8_000;

function promptOf(steps: number): Prompt {
  const start: Prompt = [
    { role: "system", content: "Be kind." },
    { role: "user", content: [{ type: "text", text: "go" }] },
  ];
  for (let n = 0; n < steps; n++) {
    const id = `c${n}`;
    const value = `result ${n} ${"x".repeat(LONG)}`;
    const output =
      n % 2 === 0 ? { type: "text" as const, value } : { type: "json" as const, value: { value } };
    start.push(
      { role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName: "look", input: {} }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: "look", output }] },
    );
  }
  return start;
}

const upTo = (n: number) => Array.from({ length: n }, (_, step) => step);

const isCut = (message: Prompt[number] | undefined): boolean => JSON.stringify(message).includes("[cut, ");

describe("trimming a prompt to its budget", () => {
  it("changes nothing while the prompt fits", () => {
    const prompt = promptOf(3);
    expect(trimToBudget(prompt, 2, estimateTokens(prompt))).toEqual(prompt);
  });

  it("shortens results of older steps, eight at a time, and keeps the newest", () => {
    const prompt = promptOf(20);
    const cutOf = (tokens: number) =>
      trimToBudget(prompt, 2, tokens).flatMap((message, at) => (isCut(message) ? [(at - 3) / 2] : []));
    expect(cutOf(estimateTokens(prompt) - 1)).toEqual(upTo(8));
    expect(cutOf(estimateTokens(prompt) - 9 * (LONG / 4))).toEqual(upTo(16));
    expect(cutOf(1)).toEqual(upTo(18));
  });

  it("keeps shortened results stable in later steps, and the messages before the turn", () => {
    const tokens = estimateTokens(promptOf(10));
    const before = trimToBudget(promptOf(12), 2, tokens);
    const after = trimToBudget(promptOf(13), 2, tokens);
    expect(before.some(isCut)).toBe(true);
    expect(after.slice(0, 18)).toEqual(before.slice(0, 18));
    expect(trimToBudget(promptOf(12), 2 + 24, tokens).some(isCut)).toBe(false);
  });

  it("applies to the prompts of a turn with many steps", async () => {
    const harness = await TurnHarness.open({
      log: createMemoryLog(),
      store: createMemoryStore(),
      signals: createMemorySignals(),
    });
    try {
      const prompts: Prompt[] = [];
      const look = tool({ idempotent: true, run: () => "x".repeat(LONG) });
      const model = scriptedModel(({ step, prompt }) => {
        prompts.push(prompt);
        return step < 12 ? [script.toolCall("look")] : [script.text("done")];
      });
      const agent = defineAgent({ name: "a", model, tools: { look }, compaction: { afterTokens: 15_000 } });
      await harness.worker([agent], { leaseTtlMs: 60_000 });
      const turn = await harness.ask(await harness.session(), "go");
      expect(turn.status).toBe("end_turn");
      expect(Math.max(...prompts.map(estimateTokens))).toBeLessThan(15_000);
      expect(prompts.at(-1)?.filter(isCut)).toHaveLength(8);
    } finally {
      await harness.close();
    }
  });
});
