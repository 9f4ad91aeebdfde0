/** Tests that misspelled and missing options of agents and tools are refused at startup with a helpful message. */
import { expect, test } from "vitest";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { type AgentOptions, defineAgent } from "../../src/runtime/define/agent.ts";
import { defineStreamAgent, type StreamAgentOptions } from "../../src/runtime/define/stream-agent.ts";
import { tool, type ToolOptions } from "../../src/runtime/define/tool.ts";
import { suggestName } from "../../src/util/parse-options.ts";

const run = () => "done";
const base = { name: "a", model: scriptedModel([]) };

/** Options as a JavaScript program without types could pass them. */
const asTool = (options: object) => () => tool(options as ToolOptions);
const asAgent = (options: object) => () => defineAgent(options as AgentOptions);
const asStream = (options: object) => () => defineStreamAgent(options as StreamAgentOptions);

test.each<[message: string, define: () => unknown]>([
  ["`handler` is not an option of a tool (there are run, input,", asTool({ handler: run })],
  ["`inputs` is not an option of a tool (did you mean `input`?)", asTool({ inputs: {}, run })],
  ["`run` of a tool is missing", asTool({})],
  [
    "`editible` is not an option of `approval` of a tool (did you mean `editable`?)",
    asTool({ run, approval: { editible: true } }),
  ],
  ["did you mean `result`?", asTool({ run, display: { results: false } })],
  [
    "`subagents` is not an option of the agent a (did you mean `subAgents`?)",
    asAgent({ ...base, subagents: {} }),
  ],
  ["`model` of the agent a is missing", asAgent({ name: "a" })],
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
  ["`name` of an agent is missing", asAgent({ model: base.model })],
  ["`name` of the agent ! must be a letter or digit followed by", asAgent({ ...base, name: "!" })],
  [
    "`maxSteps` of `limits` of the agent a must be a number from 1, got 0",
    asAgent({ ...base, limits: { maxSteps: 0 } }),
  ],
  ["`images` of the agent a must be a boolean or an object, got 3", asAgent({ ...base, images: 3 })],
  [
    "`maxImage` is not an option of `images` of the agent a (did you mean `maxImages`?)",
    asAgent({ ...base, images: { maxImage: 1 } }),
  ],
  ["`keepTurns` of `compaction` of the agent a must be", asAgent({ ...base, compaction: { keepTurns: -1 } })],
  ["`tools` is not an option of the agent a", asStream({ name: "a", run, tools: {} })],
])("throws: %s", (message, define) => {
  expect(define).toThrow(
    expect.objectContaining({ code: "BAD_AGENT", message: expect.stringContaining(message) }),
  );
});

test("accepts known options and undefined values", () => {
  const options = { run, later: undefined, display: { call: false }, approval: { canRemember: false } };
  expect(asTool(options)().display.call).toBe(false);
  // A tool can be copied and changed.
  expect(tool({ ...tool({ run, timeoutMs: 5 }), label: "x" } as ToolOptions).timeoutMs).toBe(5);
  expect(
    asAgent({ ...base, title: false, recallMemories: true, limits: { maxSteps: 3 } })().limits.maxSteps,
  ).toBe(3);
});

test("suggests the name with the fewest different letters, and none if all differ too much", () => {
  const known = ["tools", "tokens", "title"];
  expect(suggestName("toolz", known)).toBe("tools");
  expect(suggestName("Tokens", known)).toBe("tokens");
  expect(suggestName("execute", known)).toBeNull();
});
