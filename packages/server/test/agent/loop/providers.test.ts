/**
 * Tests whole turns through @ai-sdk/openai and @ai-sdk/anthropic over HTTP, against servers that simulate the
 * providers.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { Reply } from "@turnstream/testkit/model-servers/model-server.ts";
import { startAnthropicServer } from "@turnstream/testkit/model-servers/anthropic-server.ts";
import { startOpenaiServer } from "@turnstream/testkit/model-servers/openai-server.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryLog } from "../../../src/log/memory.ts";
import type { Model } from "../../../src/models/model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { outline, TurnHarness } from "../../engine/turn-harness.ts";

let harness: TurnHarness;
const servers: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
});
afterEach(async () => {
  await harness.close();
  for (const server of servers.splice(0)) await server.close();
});

interface Provider {
  readonly model: Model;
  readonly requests: readonly { readonly body: Readonly<Record<string, unknown>> }[];
}

const providers: readonly [string, (replies: readonly Reply[]) => Promise<Provider>][] = [
  [
    "OpenAI, responses",
    async (replies) => {
      const server = await startOpenaiServer((_, index) => replies[index] ?? { status: 418 });
      servers.push(server);
      const model = createOpenAI({ baseURL: server.baseUrl, apiKey: "secret-key" })("gpt-test");
      return { model, requests: server.requests };
    },
  ],
  [
    "OpenAI, chat",
    async (replies) => {
      const server = await startOpenaiServer((_, index) => replies[index] ?? { status: 418 });
      servers.push(server);
      const model = createOpenAI({ baseURL: server.baseUrl, apiKey: "secret-key" }).chat("gpt-test");
      return { model, requests: server.requests };
    },
  ],
  [
    "Anthropic",
    async (replies) => {
      const server = await startAnthropicServer((_, index) => replies[index] ?? { status: 418 });
      servers.push(server);
      const model = createAnthropic({ baseURL: server.baseUrl, apiKey: "secret-key" })("claude-test");
      return { model, requests: server.requests };
    },
  ],
];

const weather = tool({
  description: "The weather in a city",
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ content: { city, sky: "blue" }, preview: `${city}: blue` }),
});

const usage = { input: 11, output: 7 };
const calls: Reply = {
  parts: [
    { type: "call", id: "call_a", name: "weather", input: '{"city":"Paris"}' },
    { type: "call", id: "call_b", name: "weather", input: '{"city":"Lyon"}' },
  ],
  usage,
};
const answer: Reply = { parts: [{ type: "text", text: "Blue in both." }], usage };
const expected = [
  "(",
  'call weather {"city":"Paris"}',
  'call weather {"city":"Lyon"}',
  "result weather success Paris: blue",
  "result weather success Lyon: blue",
  ") Weather",
  "text final Blue in both.",
];

const isContent = (line: string): boolean => !/^(thinking|[()])/.test(line);

describe.each(providers)("turn through %s", (_, open) => {
  async function play(replies: readonly Reply[]) {
    const { model, requests } = await open(replies);
    const agent = defineAgent({
      name: "a",
      model,
      tools: { weather },
      instructions: "Be brief.",
      retry: { maxAttempts: 3, initialDelayMs: 5 },
    });
    await harness.worker([agent]);
    const ref = await harness.session();
    const turn = await harness.ask(ref, "Weather?");
    return { turn, requests, ref };
  }

  it("calls tools and sends their results back", async () => {
    const { turn, requests } = await play([calls, answer]);
    expect(outline(turn)).toEqual(expected);
    expect(turn.usage).toEqual({ input_tokens: 22, output_tokens: 14, total_tokens: 36, calls: 2 });
    expect(requests).toHaveLength(2);
    const [first, second] = requests.map(({ body }) => JSON.stringify(body));
    for (const part of ["Be brief.", "Weather?", "The weather in a city", '"city"'])
      expect(first).toContain(part);
    for (const part of ["call_a", "call_b", "sky", "blue", "Lyon"]) expect(second).toContain(part);
  });

  const faults: [string, Reply][] = [
    [
      "is rate-limited",
      {
        status: 429,
        headers: { "retry-after-ms": "5" },
        error: { type: "rate_limit_error", message: "slow" },
      },
    ],
    ["is overloaded", { status: 529, error: { type: "overloaded_error", message: "busy" } }],
    [
      "cuts the stream in the middle",
      { ...answer, cutAfterBytes: 400, parts: [{ type: "text", text: "wrong ".repeat(50) }] },
    ],
    ["sends garbage", { ...answer, at: { event: 3, do: "garbage" } }],
    ["ends the stream early", { ...answer, at: { event: 3, do: "end" } }],
  ];
  it.each(faults)("continues when the provider %s", async (__, fault) => {
    const { turn } = await play([calls, fault, answer]);
    // The retry notice is in a group of its own or in the open one.
    expect(outline(turn).filter(isContent)).toEqual(expected.filter(isContent));
    expect(turn.status).toBe("end_turn");
  });

  it("reads a stream that arrives one byte at a time", async () => {
    const { turn } = await play([
      { ...calls, isBytewise: true },
      { ...answer, isBytewise: true },
    ]);
    expect(outline(turn)).toEqual(expected);
  });

  it("ends with a message without secrets when the provider stays unreachable", async () => {
    const broken: Reply = { status: 500, error: { type: "api_error", message: "key secret-key is bad" } };
    const { turn, ref } = await play([broken, broken, broken]);
    expect(turn.status).toBe("error");
    expect(outline(turn).at(-1)).toBe("notice error LLM_ERROR");
    expect(JSON.stringify(await harness.events(ref))).not.toContain("secret-key");
  });
});

it("sends thinking back to Anthropic unchanged", async () => {
  const server = await startAnthropicServer((_, index) =>
    index === 0
      ? {
          parts: [{ type: "thinking", text: "Hm, Paris.", signature: "sig-1" }, ...(calls.parts ?? [])],
          usage,
        }
      : answer,
  );
  servers.push(server);
  const model = createAnthropic({ baseURL: server.baseUrl, apiKey: "k" })("claude-test");
  const settings = { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } } };
  await harness.worker([defineAgent({ name: "a", model, tools: { weather }, modelSettings: settings })]);
  const turn = await harness.ask(await harness.session(), "Weather?");
  expect(outline(turn).slice(0, 2)).toEqual(["(", "thinking Hm, Paris."]);
  const body = JSON.stringify(server.requests[1]?.body);
  expect(body).toContain("sig-1");
  expect(body).toContain("Hm, Paris.");
});
