/**
 * Tests the usage and cost of turns: which prices apply, that failed steps count, and which limits end a turn. In
 * memory.
 */
import { stepCountIs, streamText, tool as aiTool } from "ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { listBlocks, type Turn } from "@turnstream/protocol";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel, type Script } from "../../../src/models/scripted-model.ts";
import { type Agent, type AgentOptions, defineAgent } from "../../../src/agent/define/agent.ts";
import { defineStreamAgent, type StreamAgentOptions } from "../../../src/agent/define/stream-agent.ts";
import { parseUsageReport, type UsageReport } from "../../../src/agent/define/report-usage.ts";
import { tool } from "../../../src/agent/define/tool.ts";
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

/** No worker dies here. On a busy machine, a short lease would only expire. */
const worker = (agents: readonly Agent[]) => harness.worker(agents, { leaseTtlMs: 60_000 });
const used = (inputTokens: number, outputTokens = 0) => script.finish({ inputTokens, outputTokens });
const LIMIT = "notice error LIMIT_REACHED";

async function counted() {
  return harness.backend.store.usage.list(harness.actor.tenant, "2000-01-01", "2999-01-01");
}

const priced = (pricing: AgentOptions["pricing"]) => (pricing === undefined ? {} : { pricing });
const EXPENSIVE = { inputPerMillion: 100, outputPerMillion: 100 };
const CHEAP = { inputPerMillion: 0.01, outputPerMillion: 0.01 };

async function play(root: AgentOptions["pricing"], sub: AgentOptions["pricing"]): Promise<Turn> {
  const helper = defineAgent({
    name: "helper",
    model: scriptedModel([[script.text("x"), used(10_000)]]),
    ...priced(sub),
  });
  const main = defineAgent({
    name: "a",
    model: scriptedModel([
      [script.toolCall("helper", { task: "t" }), used(10)],
      [script.text("done"), used(10)],
    ]),
    limits: { maxCost: 0.5 },
    subAgents: { helper },
    ...priced(root),
  });
  await worker([main]);
  return harness.ask(await harness.session(), "go");
}

describe("cost of a turn", () => {
  it("uses the prices of the agent that makes the step", async () => {
    expect(outline(await play(EXPENSIVE, CHEAP)).at(-1)).toBe("text final done");
  });

  it.each([
    ["a cheap agent", CHEAP],
    ["an agent without prices", undefined],
  ])("is limited when %s calls an expensive sub-agent", async (_, root) => {
    expect(outline(await play(root, EXPENSIVE)).at(-1)).toBe(LIMIT);
  });

  it("is counted again after a takeover", async () => {
    const model = scriptedModel([
      [script.toolCall("wait"), used(6_000)],
      [script.text("done"), used(10)],
    ]);
    const options = { name: "a", model, pricing: EXPENSIVE, limits: { maxCost: 0.5 } };
    const wait = tool({ idempotent: true, run: () => new Promise(() => {}) });
    const first = await worker([defineAgent({ ...options, tools: { wait } })]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await harness.until(ref, 10_000, (state) => ((state.turns.last()?.open ?? 0) > 0 ? true : null));
    const left = first.shutdown();
    const quick = tool({ idempotent: true, run: () => "ok" });
    await worker([defineAgent({ ...options, tools: { wait: quick } })]);
    await left;
    expect(outline(await harness.ended(ref, () => true)).at(-1)).toBe(LIMIT);
  });
});

describe("usage of a turn", () => {
  it("includes a step that failed after it had shown something", async () => {
    let asked = 0;
    const replies: Script = () =>
      asked++ === 0
        ? [script.text("half"), script.finish({ reason: "error", inputTokens: 5_000, outputTokens: 1 })]
        : [script.text("ok"), used(7, 3)];
    await worker([defineAgent({ name: "a", model: scriptedModel(replies), retry: { initialDelayMs: 1 } })]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(turn.usage).toMatchObject({ input_tokens: 5_007, output_tokens: 4, calls: 2 });
    expect(await counted()).toMatchObject([{ turns: 1, calls: 2, input_tokens: 5_007 }]);
  });

  it("includes a failed sub-agent and the title, also after a takeover", async () => {
    const broken: Script = [[script.text("half"), script.finish({ reason: "error", inputTokens: 500 })]];
    const helper = defineAgent({ name: "helper", model: scriptedModel(broken), retry: { maxAttempts: 1 } });
    const title = { model: scriptedModel(() => [script.text("A title"), used(40)]) };
    const main = (second: readonly ReturnType<typeof script.text>[]) =>
      defineAgent({
        name: "a",
        model: scriptedModel([
          [script.toolCall("helper", { task: "t" }), used(3)],
          [...second, used(2)],
        ]),
        subAgents: { helper },
        title,
      });
    const first = await worker([main([script.hang()])]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await harness.until(ref, 10_000, (state) =>
      state.title !== null && state.turns.last()?.runs.some(({ status }) => status === "failed") === true
        ? true
        : null,
    );
    const left = first.shutdown();
    await worker([main([script.text("done")])]);
    await left;
    const turn = await harness.ended(ref, () => true);
    expect(turn.usage).toMatchObject({ input_tokens: 545, calls: 4 });
  });

  it("counts a turn without model calls as a turn", async () => {
    await worker([defineStreamAgent({ name: "silent", run: async function* () {} })]);
    await harness.ask(await harness.session(), "go");
    expect(await counted()).toMatchObject([{ model: "silent", turns: 1, calls: 0 }]);
  });
});

const own = (
  steps: number,
  options: Partial<StreamAgentOptions>,
  last = [script.text("done"), used(1_000)],
) =>
  defineStreamAgent({
    name: "own",
    run: ({ prompt, signal }) =>
      streamText({
        model: scriptedModel(({ step }) => (step < steps ? [script.toolCall("look"), used(1_000)] : last)),
        messages: prompt,
        abortSignal: signal,
        maxRetries: 0,
        onError: () => {},
        stopWhen: stepCountIs(20),
        tools: { look: aiTool({ inputSchema: z.object({}), execute: async () => "x" }) },
      }),
    ...options,
  });

const asking = (report: UsageReport) =>
  tool({
    run: (_, { reportUsage }) => {
      reportUsage(report);
      reportUsage({ inputTokens: 1, outputTokens: 1, model: "small" });
      return "ok";
    },
  });

describe("S11 usage that a tool reports", () => {
  const CALL_AND_TEXT = [
    [script.toolCall("ask"), used(10)],
    [script.text("done"), used(10)],
  ];

  it("is part of the result and of the turn, and is counted by model", async () => {
    const tools = { ask: asking({ inputTokens: 150, outputTokens: 45, calls: 2 }) };
    await worker([defineAgent({ name: "a", model: scriptedModel(CALL_AND_TEXT), tools })]);
    const turn = await harness.ask(await harness.session(), "go");
    const [result] = listBlocks(turn).filter((block) => block.kind === "tool_result");
    expect(result).toMatchObject({ usage: { input_tokens: 151, output_tokens: 46, calls: 3 } });
    expect(turn.usage).toMatchObject({ input_tokens: 171, output_tokens: 46, calls: 5 });
    expect(await counted()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ model: "ask", input_tokens: 150, calls: 2 }),
        expect.objectContaining({ model: "small", input_tokens: 1, calls: 1 }),
      ]),
    );
  });

  it("counts towards the limits of the agent", async () => {
    const tools = { ask: asking({ inputTokens: 1, outputTokens: 1, cost: 2 }) };
    const limits = { maxCost: 1 };
    await worker([defineAgent({ name: "a", model: scriptedModel(CALL_AND_TEXT), tools, limits })]);
    expect(outline(await harness.ask(await harness.session(), "go")).at(-1)).toBe(LIMIT);
  });

  it.each([
    [
      { inputTokens: -1, outputTokens: 0 },
      "`inputTokens` of reportUsage must be an integer of at least 0, got -1",
    ],
    [
      { inputTokens: 0, outputTokens: 0.5 },
      "`outputTokens` of reportUsage must be an integer of at least 0, got 0.5",
    ],
    [
      { inputTokens: 0, outputTokens: 0, calls: 0 },
      "`calls` of reportUsage must be an integer of at least 1, got 0",
    ],
    [
      { inputTokens: 0, outputTokens: 0, cost: NaN },
      "`cost` of reportUsage must be a number of at least 0, got NaN",
    ],
  ])("refuses %j", (report, message) => {
    expect(() => parseUsageReport(report)).toThrow(message);
  });
});

describe("limits of a stream agent", () => {
  it.each([
    ["steps", { limits: { maxSteps: 2 } }, 2],
    ["tokens", { limits: { maxTokens: 2_500 } }, 3],
    ["cost", { limits: { maxCost: 0.25 }, pricing: { inputPerMillion: 100, outputPerMillion: 100 } }, 3],
  ])("are checked before each step: %s", async (_, options, calls) => {
    await worker([own(9, options)]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(outline(turn).at(-1)).toBe(LIMIT);
    expect(turn.usage?.calls).toBe(calls);
  });

  it("don't end a loop that ends with its last step", async () => {
    await worker([own(2, { limits: { maxSteps: 3, maxTokens: 3_000 } })]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(turn.status).toBe("end_turn");
    expect(turn.usage?.calls).toBe(3);
  });

  it("count the usage of a loop that broke off", async () => {
    await worker([own(2, {}, [script.text("half"), script.disconnect()])]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(turn.status).toBe("error");
    expect(turn.usage).toMatchObject({ input_tokens: 2_000, calls: 2 });
  });
});
