/**
 * Tests where calls and shared thoughts of one step stand: inside or outside of groups, and in which order. Also tests
 * the summaries of groups. In memory.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Turn } from "@turnstream/protocol";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel, type Script } from "../../../src/models/scripted-model.ts";
import { type AgentOptions, defineAgent } from "../../../src/agent/define/agent.ts";
import type { GroupStep } from "../../../src/agent/define/summarize-group.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { decideApproval } from "../../../src/session/interactions/decide-approval.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { outline, TurnHarness } from "../turn-harness.ts";

let harness: TurnHarness;
beforeEach(async () => {
  harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
});
afterEach(() => harness.close());

const find = tool({ input: z.object({ of: z.string() }), label: "Find", run: ({ of }) => `found ${of}` });
const chart = tool({ label: "Chart", display: { standalone: true }, run: () => "drawn" });

async function play(replies: Script, options: Partial<AgentOptions> = {}): Promise<Turn> {
  const tools = { find, chart };
  await harness.worker([
    defineAgent({ name: "a", model: scriptedModel(replies), tools, shareThought: true, ...options }),
  ]);
  return harness.ask(await harness.session(), "go");
}

const think = (thought: string) => script.toolCall("share_thought", { thought });
const callFind = (of: string) => script.toolCall("find", { of });
const END = [script.text("end")];
const shown = (turn: Turn): string[] => outline(turn).filter((line) => !line.includes(" hidden "));

describe("W19 a shared thought beside tool calls", () => {
  it("stands before the group of the calls if it comes first", async () => {
    const turn = await play([
      [script.reasoning("hm"), think("Let me see."), callFind("x"), callFind("y")],
      END,
    ]);
    expect(shown(turn)).toEqual([
      "(",
      "thinking hm",
      ") Thinking",
      "text part Let me see.",
      "(",
      'call find {"of":"x"}',
      'call find {"of":"y"}',
      "result find success found x",
      "result find success found y",
      ") Find",
      "text final end",
    ]);
  });

  it("stands after the group if a call comes first, and each thought stays in its order", async () => {
    const turn = await play([
      [think("one"), callFind("x"), think("two"), callFind("y"), think("three")],
      END,
    ]);
    expect(shown(turn)).toEqual([
      "text part one",
      "(",
      'call find {"of":"x"}',
      'call find {"of":"y"}',
      "result find success found x",
      "result find success found y",
      ") Find",
      "text part two",
      "text part three",
      "text final end",
    ]);
  });

  it("comes before a question of the same step", async () => {
    const questions = [{ question: "Which?", options: ["a"] }];
    const replies = [
      [callFind("x"), script.toolCall("ask_user_question", { questions }), think("Then I ask.")],
      END,
    ];
    await harness.worker([
      defineAgent({
        name: "a",
        model: scriptedModel(replies),
        tools: { find },
        shareThought: true,
        askUser: true,
      }),
    ]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    const lines = await harness.until(ref, 30_000, (state) => {
      const turn = state.turns.last();
      const all = turn === undefined ? [] : shown(turn);
      return all.includes("question") ? all : null;
    });
    expect(lines.slice(-3)).toEqual([") Find", "text part Then I ask.", "question"]);
    await harness.stop(ref);
  });

  it("of a sub-agent stands where the sub-agent wrote it", async () => {
    const helper = defineAgent({
      name: "helper",
      tools: { find },
      shareThought: true,
      model: scriptedModel([[callFind("x"), think("Nested.")], END]),
    });
    const turn = await play([[script.toolCall("helper", { task: "t" })], END], { subAgents: { helper } });
    expect(shown(turn).slice(3, 7)).toEqual([
      'r1: call find {"of":"x"}',
      "r1: text part Nested.",
      "r1: result find success found x",
      "r1: text part end",
    ]);
  });
});

describe("W19 a call that stands alone, beside other calls", () => {
  it("follows the group of the calls before it", async () => {
    const turn = await play([[callFind("x"), script.toolCall("chart"), callFind("y")], END]);
    expect(outline(turn)).toEqual([
      "(",
      'call find {"of":"x"}',
      'call find {"of":"y"}',
      "result find success found x",
      "result find success found y",
      ") Find",
      "call chart {}",
      "result chart success drawn",
      "text final end",
    ]);
  });

  it("ends before the calls after it open a group", async () => {
    const turn = await play([
      [script.toolCall("chart"), script.toolCall("chart"), callFind("x"), callFind("y")],
      END,
    ]);
    expect(outline(turn)).toEqual([
      "call chart {}",
      "call chart {}",
      "result chart success drawn",
      "result chart success drawn",
      "(",
      'call find {"of":"x"}',
      'call find {"of":"y"}',
      "result find success found x",
      "result find success found y",
      ") Find",
      "text final end",
    ]);
  });

  it("gives the model all results of the step in the order of its calls", async () => {
    let results: unknown[] = [];
    await play(({ step, prompt }) => {
      if (step === 0) return [callFind("x"), script.toolCall("chart"), think("hm"), callFind("y")];
      results = prompt.at(-1)?.content as unknown[];
      return END;
    });
    expect(results).toMatchObject(
      ["find", "chart", "share_thought", "find"].map((toolName) => ({ toolName, type: "tool-result" })),
    );
  });
});

async function refuse(decision: "reject" | null, timeoutMs = 300_000): Promise<Turn> {
  const trade = tool({ label: "Trade", approval: { timeoutMs }, run: () => "traded" });
  const tools = { find, trade };
  const replies = [
    [callFind("x"), script.toolCall("trade")],
    [script.reasoning("Another plan."), callFind("y")],
    END,
  ];
  await harness.worker([defineAgent({ name: "a", model: scriptedModel(replies), tools })], {
    pollIntervalMs: 20,
  });
  const ref = await harness.session();
  await harness.send(ref, "go");
  if (decision !== null) {
    const [asked] = await harness.until(ref, 30_000, async () => {
      const list = await harness.backend.store.interactions.list(ref, { pending: true });
      return list.length > 0 ? list : null;
    });
    await decideApproval(harness.backend, ref, {
      key: asked?.key ?? "",
      decision,
      userId: harness.actor.user,
    });
  }
  return harness.ended(ref, () => true);
}

describe("W20 a refused call", () => {
  const REPLANNED = [
    "(",
    "thinking Another plan.",
    'call find {"of":"y"}',
    "result find success found y",
    ") Find",
    "text final end",
  ];

  it("ends its group, and the next plan opens a new one", async () => {
    const lines = outline(await refuse("reject"));
    expect(lines.slice(-8, -6)).toEqual(["result trade error You rejected this.", ") Trade"]);
    expect(lines.slice(-6)).toEqual(REPLANNED);
  });

  it("ends its group after a timeout too", async () => {
    const lines = outline(await refuse(null, 1_000));
    expect(lines.slice(-7)).toEqual([") Trade", ...REPLANNED]);
  });
});

describe("W21 the summary of a group", () => {
  it("comes from the agent's hook, which gets the visible steps", async () => {
    const given: { steps: readonly GroupStep[]; standard: string }[] = [];
    const turn = await play([[script.reasoning("hm"), callFind("x")], [think("so"), callFind("y")], END], {
      summarizeGroup: async ({ steps, defaultSummary }) => {
        given.push({ steps, standard: defaultSummary });
        return given.length === 1 ? " Looked for x " : null;
      },
    });
    expect(outline(turn).filter((line) => line.startsWith(")"))).toEqual([") Looked for x", ") Find"]);
    const call = { type: "call", name: "find", label: "Find", status: "success" } as const;
    expect(given).toEqual([
      {
        standard: "Find",
        steps: [
          { type: "thinking", text: "hm" },
          { ...call, input: { of: "x" }, preview: "found x" },
        ],
      },
      { standard: "Find", steps: [{ ...call, input: { of: "y" }, preview: "found y" }] },
    ]);
  });

  it("is the label of the last call if the hook fails, and the error is reported", async () => {
    const turn = await play([[callFind("x")], END], {
      summarizeGroup: () => {
        throw new Error("no header today");
      },
    });
    expect(outline(turn)).toContain(") Find");
    expect(turn.status).toBe("end_turn");
    expect(harness.errors.map(({ error, during }) => [String(error), during])).toEqual([
      ["Error: no header today", "summarizeGroup of the agent a"],
    ]);
  });

  it("counts the tokens that the hook reports, and truncates a long summary", async () => {
    const turn = await play([[callFind("x")], END], {
      summarizeGroup: ({ reportUsage }) => {
        reportUsage({ inputTokens: 30, outputTokens: 4, model: "small" });
        return "x".repeat(5_000);
      },
    });
    const summary = outline(turn).find((line) => line.startsWith(")")) ?? "";
    expect(summary.length).toBeLessThan(1_000);
    expect(turn.usage?.calls).toBe(3);
    const usage = await harness.backend.store.usage.list(harness.actor.tenant, "2000-01-01", "2999-01-01");
    expect(usage).toContainEqual(expect.objectContaining({ model: "small", input_tokens: 30 }));
  });
});
