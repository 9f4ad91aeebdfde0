/** Options of agents and tools that are misspelt or left out are refused when the program starts, in words that help. */
import { expect, test } from "vitest";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type AgentOptions, defineAgent } from "../../../src/runtime/define/agent.ts";
import { defineStreamAgent, type StreamAgentOptions } from "../../../src/runtime/define/stream-agent.ts";
import { suggestName } from "../../../src/runtime/define/check-options.ts";
import { tool, type ToolOptions } from "../../../src/runtime/define/tool.ts";

const run = () => "done";
const base = { name: "a", model: scriptedModel([]) };

/** As a program in JavaScript would have it. */
const asTool = (options: object) => () => tool(options as ToolOptions);
const asAgent = (options: object) => () => defineAgent(options as AgentOptions);
const asStream = (options: object) => () => defineStreamAgent(options as StreamAgentOptions);

test.each<[message: string, define: () => unknown]>([
  ["`execute` is not an option of a tool (there are run, input,", asTool({ execute: run })],
  ["`inputSchema` is not an option of a tool (did you mean `input`?)", asTool({ inputSchema: {}, run })],
  ["`run` of a tool is missing", asTool({})],
  [
    "`editible` is not an option of `approval` of a tool (did you mean `editable`?)",
    asTool({ run, approval: { editible: true } }),
  ],
  ["did you mean `result`?", asTool({ run, display: { results: false } })],
  [
    "`subagents` is not an option of an agent (did you mean `subAgents`?)",
    asAgent({ ...base, subagents: {} }),
  ],
  ["`model` of an agent is missing", asAgent({ name: "a" })],
  ["`step` is not an option of `limits` of the agent a", asAgent({ ...base, limits: { step: 1 } })],
  [
    "`outputPerMillion` of `pricing` of the agent a is missing",
    asAgent({ ...base, pricing: { inputPerMillion: 1 } }),
  ],
  ["did you mean `maxAttempts`?", asAgent({ ...base, retry: { attempts: 1 } })],
  [
    '`subAgentTool` of the agent a must be "single" or "perAgent", got true',
    asAgent({ ...base, subAgentTool: true }),
  ],
  ["`rerun` is not an option of a tool", asTool({ run, rerun: "always" })],
  ["`tools` is not an option of a stream agent", asStream({ name: "a", run, tools: {} })],
])("says: %s", (message, define) => {
  expect(define).toThrow(
    expect.objectContaining({ code: "BAD_AGENT", message: expect.stringContaining(message) }),
  );
});

test("what is there, and what is undefined, passes", () => {
  const options = { run, later: undefined, display: { call: false }, approval: { canRemember: false } };
  expect(asTool(options)().display.call).toBe(false);
  // A tool can be taken and changed.
  expect(tool({ ...tool({ run, timeoutMs: 5 }), label: "x" } as ToolOptions).timeoutMs).toBe(5);
  expect(
    asAgent({ ...base, title: false, recallMemories: true, limits: { maxSteps: 3 } })().limits.maxSteps,
  ).toBe(3);
});

test("the nearest name is the one with the fewest other letters, and none is better than a wild guess", () => {
  const known = ["tools", "tokens", "title"];
  expect(suggestName("toolz", known)).toBe("tools");
  expect(suggestName("Tokens", known)).toBe("tokens");
  expect(suggestName("execute", known)).toBeNull();
});
