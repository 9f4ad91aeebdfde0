/** Tests that a search of the app can't show a base which the agent doesn't have. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { builtInTools } from "../../../src/runtime/built-in/tools.ts";
import { defineAgent } from "../../../src/runtime/define/agent.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { TurnHarness } from "../turn-harness.ts";
import { caller } from "./tool-caller.ts";

let harness: TurnHarness;
beforeEach(async () => {
  harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
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
  const tools = builtInTools({ knowledge: { bases: ["help"], search } });
  await harness.worker([defineAgent({ name: "a", model, tools })]);
  await harness.ask(await harness.session(), "go");
  expect(last.results[0]?.text).toContain("heron");
  expect(last.results[0]?.text).not.toContain("kumquat");
});
