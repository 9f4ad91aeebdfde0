/** Checks that the code in the documents is the code that is compiled and run here. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { builtInTools } from "../../../src/runtime/built-in/tools.ts";
import { defineAgent } from "../../../src/runtime/define/agent.ts";
import { helpDesk } from "./examples/agent-with-tools.ts";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

describe("documents", () => {
  test.each([
    ["built-in-tools.md", "agent-with-tools.ts"],
    ["built-in-tools.md", "tavily-search.ts"],
    ["built-in-tools.md", "openai-images.ts"],
    ["knowledge.md", "vector-search.ts"],
    ["knowledge.md", "import-knowledge.ts"],
  ])("%s prints %s", (document, example) => {
    const code = read(`examples/${example}`).replace(/^\/\*\*.*?\*\/\n/s, "");
    expect(read(`../../../../../docs/${document}`)).toContain(`\`\`\`ts\n${code}\`\`\``);
  });

  test("the agent has the tools under the names that S11 gives them", () => {
    const agent = helpDesk(scriptedModel([]), { search: async () => [] }, "key");
    expect(Object.keys(agent.tools)).toEqual([
      "memory",
      "lookup_history",
      "http_request",
      "fetch_web_content",
      "retrieve_context_objs",
      "get_context_obj_lines",
      "search_web",
    ]);
  });

  test("a tool can be copied and changed, as its types declare", () => {
    const tools = builtInTools({ memory: false, lookupHistory: true });
    const lookup_history = { ...tools.lookup_history, approval: true };
    const agent = defineAgent({ name: "a", model: scriptedModel([]), tools: { ...tools, lookup_history } });
    expect(agent.tools["lookup_history"]).toMatchObject({ approval: true });
    expect(tools["memory"]).toBeUndefined();
  });
});
