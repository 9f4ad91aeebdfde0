/** Tests the options of agents and tools and their effect in a turn, in memory. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { listBlocks, type Turn } from "@turnstream/protocol";
import { createMemoryLog } from "../../../src/log/memory.ts";
import type { Prompt } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel, type Script } from "../../../src/models/scripted-model.ts";
import { type AgentOptions, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { retryTurn } from "../../../src/session/messages/retry-turn.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { outline, TurnHarness } from "../../engine/turn-harness.ts";

let harness: TurnHarness;
beforeEach(async () => {
  harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
});
afterEach(() => harness.close());

async function play(replies: Script, options: Partial<AgentOptions> = {}, text = "go"): Promise<Turn> {
  await harness.worker([defineAgent({ name: "a", model: scriptedModel(replies), ...options })]);
  return harness.ask(await harness.session(), text);
}

const nothing = z.object({});

describe("tool", () => {
  it("returns content for the model and blocks for the user", async () => {
    let read: Prompt = [];
    const look = tool({
      input: nothing,
      run: () => ({
        content: { secret: 42 },
        blocks: [
          { type: "text", text: "Found it" },
          { type: "image", url: "https://files.example/a.png" },
        ],
        artifact: { type: "table", data: { columns: ["a"], rows: [[1]] } },
        resultCount: 1,
      }),
    });
    const replies: Script = ({ step, prompt }) => {
      if (step === 0) return [script.toolCall("look")];
      read = prompt;
      return [script.text("ok")];
    };
    const turn = await play(replies, { tools: { look } });
    expect(JSON.stringify(read.at(-1))).toContain('"secret":42');
    const result = listBlocks(turn).find((block) => block.kind === "tool_result");
    expect(result).toMatchObject({
      preview: "Found it",
      results: 1,
      artifact: { type: "table", data: { columns: ["a"], rows: [[1]] } },
      parts: [
        { media: "text", data: "Found it", done: true },
        { media: "image", data: "https://files.example/a.png", done: true },
      ],
    });
    expect(JSON.stringify(turn)).not.toContain("secret");
  });

  it("shows progress and images while it runs, and receives its context", async () => {
    const seen: unknown[] = [];
    const draw = tool({
      input: nothing,
      run: (_, context) => {
        seen.push(
          context.tenant,
          context.user,
          context.session.startsWith("s-"),
          context.idempotencyKey.length > 0,
        );
        context.progress("sketching");
        context.image("https://files.example/1.png");
        context.image("https://files.example/2.png");
        context.progress("done");
        context.artifact({ type: "file", data: { name: "x", url: "https://files.example/x" } });
        return "drawn";
      },
    });
    const turn = await play([[script.toolCall("draw")], [script.text("ok")]], { tools: { draw } });
    expect(seen).toEqual([harness.actor.tenant, harness.actor.user, true, true]);
    const result = listBlocks(turn).find((block) => block.kind === "tool_result");
    expect(
      result?.kind === "tool_result" &&
        result.parts.map(({ media, data, pictures }) => [media, data, pictures]),
    ).toEqual([
      ["text", "sketching", 0],
      ["image", "https://files.example/2.png", 3],
      ["text", "done", 0],
    ]);
    expect(result).toMatchObject({ artifact: { type: "file" }, preview: "drawn" });
  });

  it("receives the parsed arguments, and the model receives an error if they are invalid", async () => {
    const got: unknown[] = [];
    const add = tool({
      input: z.object({ n: z.number(), unit: z.string().default("kg") }),
      run: (input) => void got.push(input),
    });
    const turn = await play(
      [
        [script.toolCall("add", { n: "three" })],
        [script.toolCall("add", {}, { raw: '{"n": ' })],
        [script.toolCall("missing", {})],
        [script.toolCall("add", { n: 3 })],
        [script.text("ok")],
      ],
      { tools: { add } },
    );
    expect(got).toEqual([{ n: 3, unit: "kg" }]);
    const results = listBlocks(turn).flatMap((block) => (block.kind === "tool_result" ? [block] : []));
    expect(results.map(({ status }) => status)).toEqual(["error", "error", "error", "success"]);
    expect(results[0]?.preview).toContain("n");
    expect(results[1]?.preview).toContain("JSON");
    expect(results[2]?.preview).toContain("missing");
  });

  it("is stopped after its timeout, and its late output is ignored", async () => {
    let late: (() => void) | null = null;
    const slow = tool({
      input: nothing,
      timeoutMs: 30,
      run: (_, context) =>
        new Promise(() => {
          late = () => context.progress("too late");
        }),
    });
    const turn = await play([[script.toolCall("slow")], [script.text("ok")]], { tools: { slow } });
    expect(outline(turn)).toContain("result slow error The tool took longer than 0 s and was stopped.");
    (late as (() => void) | null)?.();
    expect(harness.errors).toEqual([]);
  });

  it("can be hidden, be outside of groups, or have a label from its input", async () => {
    const hidden = tool({ input: nothing, display: { call: false }, run: () => "q" });
    const loud = tool({
      input: z.object({ of: z.string() }),
      label: ({ of }) => `Chart of ${of}`,
      display: { standalone: true },
      run: () => "l",
    });
    const turn = await play(
      [
        [script.reasoning("hm"), script.toolCall("hidden")],
        [script.toolCall("loud", { of: "rain" }, { chunks: 3 })],
        [script.toolCall("hidden")],
        [script.text("ok")],
      ],
      { tools: { hidden, loud } },
    );
    expect(outline(turn)).toEqual([
      "(",
      "thinking hm",
      "call hidden hidden {}",
      "result hidden hidden success q",
      ") Thinking",
      'call loud {"of":"rain"}',
      "result loud success l",
      "call hidden hidden {}",
      "result hidden hidden success q",
      "text final ok",
    ]);
    const labels = listBlocks(turn).flatMap((block) => (block.kind === "tool_call" ? [block.label] : []));
    expect(labels).toEqual(["", "Chart of rain", ""]);
  });

  it("W07 with a hidden result ends for users without its content", async () => {
    let read = "";
    const secret = tool({
      input: nothing,
      display: { result: false },
      run: (_, context) => {
        context.progress("working on the secret answer");
        return { content: "the secret answer", blocks: [{ type: "text", text: "it is the secret answer" }] };
      },
    });
    const replies: Script = ({ step, prompt }) => {
      if (step === 0) return [script.toolCall("secret")];
      read = JSON.stringify(prompt.at(-1));
      return [script.text("ok")];
    };
    const turn = await play(replies, { tools: { secret } });
    expect(outline(turn)).toEqual([
      "(",
      "call secret {}",
      "result secret success ",
      ") Secret",
      "text final ok",
    ]);
    expect(JSON.stringify(turn)).not.toContain("the secret answer");
    expect(read).toContain("the secret answer");
  });

  it("has a long result truncated for the model and stored in full for the user", async () => {
    let read = "";
    const long = tool({ input: nothing, run: () => "x".repeat(10_000) });
    const replies: Script = ({ step, prompt }) => {
      if (step === 0) return [script.toolCall("long")];
      read = JSON.stringify(prompt.at(-1));
      return [script.text("ok")];
    };
    await harness.worker([
      defineAgent({
        name: "a",
        model: scriptedModel(replies),
        tools: { long },
        limits: { maxResultChars: 100 },
      }),
    ]);
    const ref = await harness.session();
    const turn = await harness.ask(ref, "go");
    expect(read).toContain("9900 of 10000 characters are left out");
    const result = listBlocks(turn).find((block) => block.kind === "tool_result");
    const whole = result?.kind === "tool_result" ? result.whole : null;
    expect(whole?.size).toBe(10_000);
    const blob = await harness.backend.store.blobs.get(ref, whole?.blob ?? "");
    expect(Buffer.from(blob?.body ?? "").toString()).toBe("x".repeat(10_000));
  });
});

describe("tool that misbehaves", () => {
  const odd: [string, unknown][] = [
    ["blocks", { content: 1, blocks: [{ type: "video" }] }],
    ["resultCount", { content: 1, resultCount: 1.5 }],
    ["artifact", { content: 1, artifact: "x" }],
    ["references", { content: 1, references: [{ title: "no content" }] }],
    ["picture", { content: 1, blocks: [{ type: "image", url: "javascript:alert(1)" }] }],
  ];
  it.each(odd)("returns an error result for bad %s", async (_, returned) => {
    const turn = await play([[script.toolCall("odd")], [script.text("ok")]], {
      tools: { odd: tool({ run: () => returned }) },
    });
    expect(outline(turn)).toContain("result odd error This did not work.");
    expect(turn.status).toBe("end_turn");
  });

  it("hides the message of a thrown error from the user", async () => {
    let read = "";
    const secret = tool({
      run: () => {
        throw new Error("can't reach postgres://admin:hunter2@db");
      },
    });
    const turn = await play(
      ({ step, prompt }) => {
        read = JSON.stringify(prompt.at(-1));
        return step === 0 ? [script.toolCall("secret")] : [script.text("ok")];
      },
      { tools: { secret } },
    );
    expect(JSON.stringify(turn)).not.toContain("hunter2");
    expect(read).toContain("hunter2");
    expect(harness.errors).toHaveLength(1);
  });
});

describe("limits", () => {
  const more = tool({ input: nothing, run: () => "more" });
  const cases: [string, Partial<AgentOptions>][] = [
    ["steps", { limits: { maxSteps: 3 } }],
    ["tokens", { limits: { maxTokens: 50 } }],
    ["cost", { limits: { maxCost: 0.001 }, pricing: { inputPerMillion: 100, outputPerMillion: 100 } }],
    ["time", { limits: { timeoutMs: 1 } }],
  ];
  it.each(cases)("end a turn that exceeds %s", async (_, options) => {
    const turn = await play(
      () => [script.toolCall("more"), script.finish({ inputTokens: 10, outputTokens: 5 })],
      {
        tools: { more },
        ...options,
      },
    );
    expect(turn.status).toBe("error");
    expect(listBlocks(turn).at(-1)).toMatchObject({ error: { code: "LIMIT_REACHED", can_retry: false } });
  });

  it("bound the depth of sub-agents", async () => {
    let agent = defineAgent({ name: "deepest", model: scriptedModel([[script.text("bottom")]]) });
    for (let n = 0; n < 3; n++) {
      agent = defineAgent({
        name: `level${n}`,
        model: scriptedModel([
          [script.toolCall("next", { task: "go on" }, { id: `c${n}` })],
          [script.text(`end of ${n}`)],
        ]),
        subAgents: { next: agent },
        // Only the limit of the main agent counts.
        ...(n === 2 ? { limits: { maxDepth: 2 } } : {}),
      });
    }
    await harness.worker([agent]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(turn.status).toBe("end_turn");
    expect(outline(turn).filter((line) => line.includes("error"))).toEqual([
      "r2: result next error Sub-agents can be nested at most 2 deep.",
    ]);
  });
});

const loop = (limits: AgentOptions["limits"]) =>
  defineAgent({
    name: "loop",
    model: scriptedModel(() => [
      script.toolCall("again"),
      script.finish({ inputTokens: 100, outputTokens: 100 }),
    ]),
    tools: { again: tool({ run: () => "again" }) },
    ...(limits === undefined ? {} : { limits }),
  });

describe("sub-agent", () => {
  it("that fails is an error result for its caller, and its open blocks are closed", async () => {
    const helper = defineAgent({
      name: "helper",
      label: "Helper",
      retry: { maxAttempts: 1 },
      tools: { hang: tool({ run: () => "hung" }) },
      model: scriptedModel(({ text, step }) => {
        if (text === "good") return [script.text("fine")];
        return step === 0
          ? [script.toolCall("hang"), script.toolCall("hang")]
          : [script.text("half of"), script.error({ status: 400 })];
      }),
    });
    const turn = await play(
      [
        [
          script.toolCall("helper", { task: "good" }, { id: "g" }),
          script.toolCall("helper", { task: "bad" }, { id: "b" }),
        ],
        [script.text("ok")],
      ],
      { subAgents: { helper } },
    );
    expect(turn.status).toBe("end_turn");
    expect(outline(turn).filter((line) => line.startsWith("result"))).toEqual([
      "result helper success fine",
      expect.stringMatching(/^result helper error Helper could not finish/),
    ]);
    expect(turn.runs.map(({ status }) => status)).toEqual(["completed", "completed", "failed"]);
  });

  it("has limits of its own, and the main agent's limits apply to all", async () => {
    const own = await play([[script.toolCall("loop", { task: "x" })], [script.text("ok")]], {
      subAgents: { loop: loop({ maxSteps: 3 }) },
    });
    expect(own.status).toBe("end_turn");
    expect(own.usage?.calls).toBe(5);
    await harness.close();
    harness = await TurnHarness.open({
      log: createMemoryLog(),
      store: createMemoryStore(),
      signals: createMemorySignals(),
    });
    const all = await play([[script.toolCall("loop", { task: "x" })], [script.text("ok")]], {
      subAgents: { loop: loop(undefined) },
      limits: { maxTokens: 1_000 },
    });
    expect(listBlocks(all).at(-1)).toMatchObject({ error: { code: "LIMIT_REACHED" } });
    expect(all.usage?.total_tokens).toBeLessThan(1_300);
  });
});

const tradeOnce: Script = ({ prompt }) =>
  prompt.at(-1)?.role === "tool"
    ? [script.error({ status: 500 }, { times: 1 }), script.text("traded")]
    : [script.toolCall("trade")];

describe("conversation", () => {
  it("is sent to the model again with the tool results", async () => {
    const prompts: Prompt[] = [];
    const look = tool({
      input: nothing,
      run: () => ({ content: "for the model only", preview: "for users" }),
    });
    const replies: Script = ({ step, turn, prompt }) => {
      prompts.push(prompt);
      return turn === 1 && step === 0
        ? [script.text("Looking."), script.toolCall("look")]
        : [script.text(`answer ${turn}`)];
    };
    await harness.worker([
      defineAgent({ name: "a", model: scriptedModel(replies), tools: { look }, instructions: "Be kind." }),
    ]);
    const ref = await harness.session();
    await harness.ask(ref, "one");
    await harness.ask(ref, "two");
    const text = JSON.stringify(prompts.at(-1));
    expect(prompts.at(-1)?.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    for (const part of ["Be kind.", "one", "Looking.", "for the model only", "answer 1", "two"])
      expect(text).toContain(part);
    expect(text).not.toContain("for users");
  });

  it("is compacted when it gets long, as a step that the user can open", async () => {
    const prompts: Prompt[] = [];
    const replies: Script = ({ prompt, text }) => {
      prompts.push(prompt);
      return text.startsWith("Sum up")
        ? [script.text("They like tea.")]
        : [script.text(`long answer ${"x".repeat(400)}`)];
    };
    const agent = defineAgent({
      name: "a",
      model: scriptedModel(replies),
      compaction: { afterTokens: 300, keepTurns: 1 },
    });
    await harness.worker([agent]);
    const ref = await harness.session();
    for (const text of ["one", "two", "three"]) await harness.ask(ref, text);
    const turn = await harness.ask(ref, "four");
    expect(outline(turn).slice(0, 4)).toEqual([
      "(",
      'call compact_history {"turns":2}',
      "result compact_history success They like tea.",
      ") Summed up the conversation so far",
    ]);
    const last = JSON.stringify(prompts.at(-1));
    expect(last).toContain("They like tea.");
    expect(last).not.toContain('"one"');
    expect(last).toContain('"three"');
    expect(turn.usage?.calls).toBe(2);
  });

  it("gets its title from the first message, from a model, or not at all", async () => {
    const titles = async (title: AgentOptions["title"], text: string): Promise<string | null> => {
      await harness.worker([
        defineAgent({
          name: "a",
          model: scriptedModel([[script.text("ok")]]),
          ...(title === undefined ? {} : { title }),
        }),
      ]);
      const ref = await harness.session();
      await harness.ask(ref, text);
      return (await harness.state(ref)).title;
    };
    // One worker at a time, because their agents have the same name.
    expect(await titles(undefined, `Where is ${"the station ".repeat(10)}\nsecond line`)).toMatch(
      /^Where is the .*…$/,
    );
    await harness.close();
    harness = await TurnHarness.open({
      log: createMemoryLog(),
      store: createMemoryStore(),
      signals: createMemorySignals(),
    });
    expect(await titles({ model: scriptedModel([[script.text("A fine title")]]) }, "hello")).toBe(
      "A fine title",
    );
    await harness.close();
    harness = await TurnHarness.open({
      log: createMemoryLog(),
      store: createMemoryStore(),
      signals: createMemorySignals(),
    });
    expect(await titles(false, "hello")).toBeNull();
  });

  it("can retry a failed turn, once at a time", async () => {
    const prompts: Prompt[] = [];
    const replies: Script = ({ prompt }) => {
      prompts.push(prompt);
      return [script.error({ status: 500 }, { times: 1 }), script.text("now it works")];
    };
    await harness.worker([
      defineAgent({ name: "a", model: scriptedModel(replies), retry: { maxAttempts: 1 } }),
    ]);
    const ref = await harness.session();
    const failed = await harness.ask(ref, "please");
    expect(failed.status).toBe("error");
    const tries = await Promise.all([1, 2, 3].map(() => retryTurn(harness.backend, ref, failed.id)));
    expect(tries.filter(({ receipt }) => receipt === "retrying")).toHaveLength(1);
    const turn = await harness.ended(ref, ({ retries }) => retries === failed.id);
    expect(turn.status).toBe("end_turn");
    expect(JSON.stringify(prompts.at(-1))).toContain("please");
    expect(prompts.at(-1)).toHaveLength(1);
    await expect(retryTurn(harness.backend, ref, failed.id)).rejects.toMatchObject({
      code: "CONFLICT",
    });
  });

  it("does not repeat completed calls when a failed turn is retried", async () => {
    const trades: string[] = [];
    const trade = tool({ run: (_, { idempotencyKey }) => void trades.push(idempotencyKey) });
    await harness.worker([
      defineAgent({
        name: "a",
        model: scriptedModel(tradeOnce),
        tools: { trade },
        retry: { maxAttempts: 1 },
      }),
    ]);
    const ref = await harness.session();
    const failed = await harness.ask(ref, "trade");
    expect(failed.status).toBe("error");
    await retryTurn(harness.backend, ref, failed.id);
    const turn = await harness.ended(ref, ({ retries }) => retries === failed.id);
    expect(outline(turn)).toEqual(["text final traded"]);
    expect(trades).toHaveLength(1);
  });

  it("keeps a long message complete for later turns", async () => {
    const prompts: Prompt[] = [];
    const replies: Script = ({ prompt }) => {
      prompts.push(prompt);
      return [script.text("ok")];
    };
    await harness.worker([defineAgent({ name: "a", model: scriptedModel(replies) })]);
    const ref = await harness.session();
    await harness.ask(ref, `${"word ".repeat(15_000)}the end`);
    await harness.ask(ref, "and?");
    for (const prompt of prompts) expect(JSON.stringify(prompt)).toContain("the end");
  });

  it("counts the usage of a tenant once", async () => {
    const turn = await play([[script.text("ok"), script.finish({ inputTokens: 7, outputTokens: 3 })]]);
    expect(turn.usage).toEqual({ input_tokens: 7, output_tokens: 3, total_tokens: 10, calls: 1 });
    const [day] = await harness.backend.store.usage.list(harness.actor.tenant, "2000-01-01", "2999-01-01");
    expect(day).toMatchObject({ turns: 1, total_tokens: 10, model: "scripted" });
  });
});
