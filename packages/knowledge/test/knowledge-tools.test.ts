/** Tests the tools of knowledge bases without PostgreSQL: with a search of the app, and without any store for them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { defineAgent } from "../../server/src/agent/define/agent.ts";
import { createMemoryBackend } from "../../server/test/gateway/test-server.ts";
import { caller } from "../../server/test/agent/built-in/tool-caller.ts";
import { TurnHarness } from "../../server/test/engine/turn-harness.ts";
import { knowledgeTools } from "../src/knowledge-tools.ts";

let harness: TurnHarness;
beforeEach(async () => {
  harness = await TurnHarness.open(createMemoryBackend());
});
afterEach(() => harness.close());

test("S11: results from a base that is not configured are omitted", async () => {
  const hit = { object: "o", title: "T", url: null, firstLine: 1, lastLine: 1, score: 1 };
  const search = {
    search: async () => [
      { ...hit, base: "secret", text: "kumquat" },
      { ...hit, base: "help", text: "heron" },
    ],
  };
  const { model, last } = caller([["retrieve_context_objs", { query: "x" }]]);
  const tools = knowledgeTools({ bases: ["help"], search });
  await harness.worker([defineAgent({ name: "a", model, tools })]);
  await harness.ask(await harness.session(), "go");
  expect(last.results[0]?.text).toContain("heron");
  expect(last.results[0]?.text).not.toContain("kumquat");
});

test("a call fails in a store that has no knowledge bases, and the error names what is missing", async () => {
  const { model, last } = caller([["retrieve_context_objs", { query: "x" }]]);
  await harness.worker([defineAgent({ name: "a", model, tools: knowledgeTools({ bases: ["help"] }) })]);
  await harness.ask(await harness.session(), "go");
  expect(last.results).toMatchObject([{ isError: true }]);
  expect(harness.errors.map(({ error }) => String(error))).toEqual([
    expect.stringContaining("the in-memory store doesn't have the feature knowledge"),
  ]);
});
