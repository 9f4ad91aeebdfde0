/**
 * Tests tools with the names of the AI SDK, and tools that the AI SDK's own `tool()` made, in whole turns through
 * @ai-sdk/anthropic over HTTP.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { startAnthropicServer } from "@turnstream/testkit/model-servers/anthropic-server.ts";
import type { ModelServer } from "@turnstream/testkit/model-servers/model-server.ts";
import { listBlocks } from "@turnstream/protocol";
import { dynamicTool, jsonSchema, tool as aiTool } from "ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type AgentOptions, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool, type ToolOptions } from "../../../src/agent/define/tool.ts";
import { decideApproval } from "../../../src/session/interactions/decide-approval.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { createMemoryBackend } from "../../gateway/test-server.ts";
import { outline, TurnHarness } from "../../engine/turn-harness.ts";

const schema = z.object({});
const execute = () => "";
const run = execute;

const validate = (value: unknown) =>
  (value as { city: string }).city === "Lyon"
    ? ({ success: true, value: { city: "LYON" } } as const)
    : ({ success: false, error: new Error("only Lyon has a sky") } as const);

let harness: TurnHarness;
let server: ModelServer;
let args: unknown;
let ref: SessionRef;
beforeEach(async () => {
  args = { city: "Paris" };
  server = await startAnthropicServer(({ body }) =>
    (body["messages"] as unknown[]).length > 1
      ? { parts: [{ type: "text", text: "Done." }] }
      : { parts: [{ type: "call", id: "call_a", name: "sky", input: JSON.stringify(args) }] },
  );
  harness = await TurnHarness.open(createMemoryBackend());
});
afterEach(async () => {
  await harness.close();
  await server.close();
});

async function start(sky: NonNullable<AgentOptions["tools"]>[string]): Promise<void> {
  const model = createAnthropic({ baseURL: server.baseUrl, apiKey: "key" })("claude-test");
  await harness.worker([defineAgent({ name: "a", model, title: false, tools: { sky } })]);
  ref = await harness.session();
  await harness.send(ref, "Which colour?");
}
const ended = async () => outline(await harness.ended(ref, () => true));
const offered = () => (server.requests[0]?.body["tools"] as Record<string, unknown>[] | undefined)?.[0];
/** The result that the model read. */
const readResult = () => JSON.stringify(server.requests[1]?.body["messages"]);

describe("a tool of the AI SDK", () => {
  it("runs with its schema, and gets the id of the call, the signal and the messages", async () => {
    const got: unknown[] = [];
    await start(
      aiTool({
        description: "The colour of the sky",
        inputSchema: z.object({ city: z.string(), at: z.string().default("noon") }),
        execute: async ({ city, at }, { toolCallId, abortSignal, messages }) => {
          got.push(toolCallId, abortSignal?.aborted, messages);
          // The fields of an output of Turnstream have no meaning here.
          return { content: `${city} at ${at}`, preview: "blue" };
        },
      }),
    );
    const results = (await ended()).filter((line) => line.startsWith("result sky success"));
    expect(results.join()).toContain("Paris at noon");
    expect(got).toEqual([
      "call_a",
      false,
      [{ role: "user", content: [{ type: "text", text: "Which colour?" }] }],
    ]);
    expect(offered()).toMatchObject({
      name: "sky",
      description: "The colour of the sky",
      input_schema: { type: "object", required: ["city"], properties: { city: { type: "string" } } },
    });
    expect(readResult()).toContain("Paris at noon");
  });

  it("accepts jsonSchema(), which the model gets unchanged, and checks input with its validate", async () => {
    const described = {
      type: "object",
      properties: { city: { type: "string" } },
      additionalProperties: true,
    } as const;
    await start(
      aiTool({
        inputSchema: jsonSchema<{ city: string }>(described, { validate }),
        execute: ({ city }) => `blue in ${city}`,
      }),
    );
    expect((await ended()).join()).toContain("result sky error");
    expect(offered()?.["input_schema"]).toEqual(described);
    expect(readResult()).toContain("only Lyon has a sky");
  });

  it("shows the values that it yields as progress, and the last one is the result", async () => {
    await start(
      aiTool({
        inputSchema: jsonSchema<{ city: string }>({ type: "object" }),
        async *execute({ city }) {
          yield "looking up";
          yield `blue in ${city}`;
        },
      }),
    );
    expect(await ended()).toContain("result sky success blue in Paris");
    const written = JSON.stringify(await harness.events(ref));
    expect(written).toContain("looking up");
  });

  it("waits for approval as `needsApproval` decides, and runs once it is approved", async () => {
    const got: unknown[] = [];
    await start(
      aiTool({
        inputSchema: z.object({ city: z.string() }),
        needsApproval: async ({ city }, { toolCallId, messages }) => {
          got.push(toolCallId, messages.length);
          return city === "Paris";
        },
        execute: ({ city }) => `blue in ${city}`,
      }),
    );
    const asked = await harness.until(ref, 40_000, async (state) => {
      const turn = state.turns.last();
      const rows = await harness.backend.store.interactions.list(ref, { pending: true });
      const blocks = turn === undefined || rows.length === 0 ? [] : listBlocks(turn);
      return blocks.find((block) => block.kind === "approval") ?? null;
    });
    expect(asked).toMatchObject({ timeout_seconds: 300, actions: [{ input: { city: "Paris" } }] });
    const { userId, key } = { userId: harness.actor.user, key: asked.key };
    await decideApproval(harness.backend, ref, { key, decision: "approve", userId });
    expect(await ended()).toContain("result sky success blue in Paris");
    expect(got).toEqual(["call_a", 1]);
  });

  it.each<[what: string, tool: object]>([
    ["has no `execute`", aiTool({ inputSchema: schema, outputSchema: z.string() })],
    ["is a dynamic tool", dynamicTool({ inputSchema: schema, execute })],
    [
      "runs at the model provider: use it with `streamText` inside `defineStreamAgent`",
      createAnthropic({ apiKey: "key" }).tools.webSearch_20250305({}),
    ],
    [
      "has `toModelOutput`",
      aiTool({ inputSchema: schema, execute, toModelOutput: () => ({ type: "text", value: "" }) }),
    ],
    ["has `contextSchema`", aiTool({ inputSchema: schema, execute, contextSchema: schema })],
    ["must have a text as `description`", aiTool({ inputSchema: schema, execute, description: () => "x" })],
    ["it has neither `run` nor `inputSchema`", { execute }],
    ["must be created with tool()", undefined as unknown as object],
  ])("is refused when the agent is defined if it %s", (message, sky) => {
    const define = () =>
      defineAgent({ name: "a", model: scriptedModel([]), tools: { sky } } as unknown as AgentOptions);
    expect(define).toThrow(
      expect.objectContaining({
        code: "BAD_AGENT",
        message: expect.stringContaining("the tool sky of the agent a") as string,
      }),
    );
    expect(define).toThrow(message);
  });
});

describe("tool() with the names of the AI SDK", () => {
  it("runs `execute` with both contexts, and may return a ToolOutput", async () => {
    const got: unknown[] = [];
    await start(
      tool({
        label: ({ city }) => `Sky over ${city}`,
        inputSchema: z.object({ city: z.string() }),
        approval: ({ city }) => city === "Lyon",
        execute: ({ city }, { toolCallId, call, abortSignal, signal, messages, idempotencyKey }) => {
          got.push(toolCallId === call, abortSignal === signal, messages.length, typeof idempotencyKey);
          return { content: `blue in ${city}`, preview: "blue" };
        },
      }),
    );
    expect(await ended()).toContain("result sky success blue");
    expect(got).toEqual([true, true, 1, "string"]);
  });

  it("runs `execute` without a schema", async () => {
    args = {};
    await start(tool({ execute: () => "blue" }));
    expect(await ended()).toContain("result sky success blue");
  });

  it.each<[options: object, message: string]>([
    [{ run, execute: run }, "not names of both pairs"],
    [{ run, inputSchema: z.object({}) }, "not names of both pairs"],
    [{ input: z.object({}), execute: run }, "not names of both pairs"],
    [{ inputSchema: z.object({}) }, "`execute` of a tool is missing"],
    [{ input: z.object({}) }, "`run` of a tool is missing"],
    [
      { execute: run, needsApproval: true },
      "`needsApproval` is not an option of a tool (did you mean `approval`?)",
    ],
  ])("refuses %o", (options, message) => {
    expect(() => tool(options as ToolOptions)).toThrow(
      expect.objectContaining({ code: "BAD_AGENT", message: expect.stringContaining(message) as string }),
    );
  });
});
