/** Tests that `scriptedAnswers` replaces the error of a missing key, and only that, with the real provider packages. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { listBlocks } from "@turnstream/protocol";
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { streamText } from "ai";
import { expect, onTestFinished, test, vi } from "vitest";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { type Agent, type AgentOptions, defineAgent } from "../../src/agent/define/agent.ts";
import { defineStreamAgent } from "../../src/agent/define/stream-agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import { turnstream } from "../../src/turnstream/turnstream.ts";

function unset(...variables: readonly string[]): void {
  for (const variable of variables) vi.stubEnv(variable, undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** Sends messages one after the other, and returns how each turn ended, its text, and the printed lines. */
async function answers(agent: Agent, messages: readonly string[] = ["Hi"], scriptedAnswers = true) {
  const lines: string[] = [];
  const app = turnstream({
    agents: [agent],
    user: () => "an",
    print: (line) => lines.push(line),
    scriptedAnswers,
    dataFolder: await createDataFolder(),
  });
  onTestFinished(() => app.close());
  await app.worker();
  const { id } = await app.sessions.create({ user: "an" });
  const turns = [];
  for (const [n, message] of messages.entries()) {
    await app.sessions.send(id, message);
    const read = async () => (await app.sessions.read(id)).state;
    const isOver = async () => {
      const { turns: all } = await read();
      return all.length > n && all.last()?.status !== "running";
    };
    await expect.poll(isOver, { interval: 20 }).toBe(true);
    const turn = (await read()).turns.last();
    const blocks = turn === undefined ? [] : listBlocks(turn);
    const text = blocks.map((block) => ("text" in block ? block.text : "")).join("");
    turns.push({ status: turn?.status, text });
  }
  return { turns, lines, title: (await app.sessions.read(id)).state.title };
}

const noTool = tool({
  run: () => {
    throw new Error("a scripted answer calls no tool");
  },
});
const define = (model: AgentOptions["model"]): Agent =>
  defineAgent({ name: "helper", tools: { noTool }, title: { model }, model });

test.each([
  ["Anthropic", "ANTHROPIC_API_KEY", () => createAnthropic()("claude-sonnet-4-6")],
  ["OpenAI", "OPENAI_API_KEY", () => createOpenAI()("gpt-5")],
  ["the AI Gateway", "AI_GATEWAY_API_KEY", () => "anthropic/claude-sonnet-4-6"],
])("without a key of %s, the answer names %s", async (_, variable, model) => {
  unset(variable, "VERCEL_OIDC_TOKEN");
  const { turns, lines, title } = await answers(define(model()), ["Hi", "And now?"]);
  for (const turn of turns)
    expect(turn).toEqual({ status: "end_turn", text: expect.stringContaining(`Set ${variable}`) });
  expect(lines.filter((line) => line.includes(variable))).toEqual([
    `${variable} is not set: answers are scripted until it is.`,
  ]);
  expect(title).toBe("Hi");
});

test("a stream agent's answer names the variable too", async () => {
  unset("OPENAI_API_KEY");
  const agent = defineStreamAgent({
    name: "streaming",
    title: false,
    run: ({ signal, prompt }) =>
      streamText({
        model: createOpenAI()("gpt-5"),
        messages: prompt,
        abortSignal: signal,
        onError: () => undefined,
      }),
  });
  const { turns } = await answers(agent);
  expect(turns).toEqual([{ status: "end_turn", text: expect.stringContaining("Set OPENAI_API_KEY") }]);
});

test("without the option, a missing key is an error", async () => {
  unset("ANTHROPIC_API_KEY");
  const { turns, lines } = await answers(define(createAnthropic()("claude-sonnet-4-6")), ["Hi"], false);
  expect(turns[0]?.status).toBe("error");
  expect(lines.join("\n")).toContain("ANTHROPIC_API_KEY");
});

test("a wrong key is an error, and a model without a problem answers itself", async () => {
  const refused = scriptedModel([[script.error({ status: 401, message: "The key is wrong." })]]);
  expect((await answers(define(refused))).turns[0]?.status).toBe("error");
  const { turns } = await answers(define(scriptedModel([[script.text("Hello.")]])));
  expect(turns).toEqual([{ status: "end_turn", text: "Hello." }]);
});
