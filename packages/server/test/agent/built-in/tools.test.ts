/** Tests the types of built-in tools. */
import { expect, test } from "vitest";

import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { builtInTools } from "../../../src/agent/built-in/tools.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";

test("a tool can be copied and changed, as its types declare", () => {
  const tools = builtInTools({ memory: false, lookupHistory: true });
  const lookup_history = { ...tools.lookup_history, approval: true };
  const agent = defineAgent({ name: "a", model: scriptedModel([]), tools: { ...tools, lookup_history } });
  expect(agent.tools["lookup_history"]).toMatchObject({ approval: true });
  expect(tools["memory"]).toBeUndefined();
});
