/** Tests the structured output of tools: what of it clients get, and the types that a page gets of it. */
import { findToolResult, toolItem, type ToolsOf, type Turn } from "@turnstream/protocol";
import { afterEach, beforeEach, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool, type Tool } from "../../../src/agent/define/tool.ts";
import { MAX_OUTPUT_BYTES } from "../../../src/agent/tool-calls/check-output.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { TurnHarness } from "../../engine/turn-harness.ts";

let harness: TurnHarness;
beforeEach(async () => {
  const parts = { log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() };
  harness = await TurnHarness.open(parts);
});
afterEach(() => harness.close());

const output = z.object({ id: z.string(), count: z.number() });

async function play(order: Tool): Promise<Turn> {
  const model = scriptedModel(({ step }) =>
    step === 0 ? [script.toolCall("order", {})] : [script.text("Done.")],
  );
  await harness.worker([defineAgent({ name: "a", model, tools: { order }, title: false })]);
  return harness.ask(await harness.session(), "go");
}

/** Returns the output that clients get; undefined if none. */
function published(turn: Turn): unknown {
  const call = turn.items.toArray().find((item) => item?.kind === "tool_call");
  if (call?.kind !== "tool_call") throw new Error("there is no call");
  const result = findToolResult(turn, call.call);
  expect(result?.status).toBe("success");
  expect(toolItem(turn, call).output).toEqual(result?.structured ?? null);
  return result?.structured;
}

test("clients get the fields of the schema, and no others", async () => {
  const turn = await play(tool({ output, run: () => ({ id: "o1", count: 2, secret: "s" }) }));
  expect(published(turn)).toEqual({ id: "o1", count: 2 });
  expect(harness.errors).toEqual([]);
});

test("`output` of a result is for clients, and `content` for the model", async () => {
  const turn = await play(
    tool({ output, run: () => ({ content: "Ordered.", output: { id: "o1", count: 1 } }) }),
  );
  expect(published(turn)).toEqual({ id: "o1", count: 1 });
});

test("clients get no output of a tool without a schema", async () => {
  const turn = await play(tool({ run: () => ({ content: "Ordered.", output: { id: "o1" } }) }));
  expect(published(turn)).toBeUndefined();
  expect(String(harness.errors[0]?.error)).toContain("has no schema `output`");
});

test.each([
  ["doesn't match the schema", { id: 1, count: 2 }, "id: "],
  ["is too long", { id: "é".repeat(MAX_OUTPUT_BYTES / 2), count: 1 }, `at most ${MAX_OUTPUT_BYTES} bytes`],
])("an output that %s is left out and reported, and the call succeeds", async (_, returned, problem) => {
  const turn = await play(tool({ output, run: () => returned }));
  expect(published(turn)).toBeUndefined();
  expect(harness.errors.map(({ during }) => during)).toEqual(["the output of the tool order"]);
  expect(String(harness.errors[0]?.error)).toContain(problem);
});

test("clients get no output if the tool hides its results", async () => {
  const turn = await play(tool({ output, display: { result: false }, run: () => ({ id: "o1", count: 2 }) }));
  expect(published(turn)).toBeUndefined();
});

test("a page gets the types of input and output from the agent", () => {
  const agent = defineAgent({
    name: "a",
    model: scriptedModel([]),
    tools: {
      order: tool({ input: z.object({ symbol: z.string() }), output, run: () => ({ id: "", count: 0 }) }),
      plain: tool({ run: () => "" }),
      sdk: tool({ inputSchema: z.object({ n: z.number() }), outputSchema: output, execute: () => "" }),
    },
  });
  expect(agent.name).toBe("a");
  type Tools = ToolsOf<typeof agent>;
  expectTypeOf<keyof Tools>().toEqualTypeOf<"order" | "plain" | "sdk">();
  expectTypeOf<Tools["order"]["input"]>().toEqualTypeOf<{ symbol: string }>();
  expectTypeOf<Tools["order"]["output"]>().toEqualTypeOf<{ id: string; count: number }>();
  expectTypeOf<Tools["plain"]["output"]>().toEqualTypeOf<unknown>();
  expectTypeOf<Tools["sdk"]["input"]>().toEqualTypeOf<{ n: number }>();
  expectTypeOf<Tools["sdk"]["output"]>().toEqualTypeOf<{ id: string; count: number }>();
  // @ts-expect-error -- a field that the tool doesn't have
  type Wrong = Tools["order"]["output"]["price"];
  expectTypeOf<Wrong>().not.toBeString();
});
