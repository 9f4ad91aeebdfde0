/** Checks that the code in the documents is the code that is compiled and run here. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { scriptedModel } from "../../server/src/models/scripted-model.ts";
import { helpDesk } from "./examples/agent-with-tools.ts";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

describe("documents", () => {
  test.each([
    ["built-in-tools.md", "agent-with-tools.ts"],
    ["built-in-tools.md", "tavily-search.ts"],
    ["built-in-tools.md", "openai-images.ts"],
  ])("%s prints %s", (document, example) => {
    const code = read(`examples/${example}`).replace(/^\/\*\*.*?\*\/\n/s, "");
    expect(read(`../../../docs/${document}`)).toContain(`\`\`\`ts\n${code}\`\`\``);
  });

  test("the agent has the tools under the names that S11 gives them", () => {
    const agent = helpDesk(scriptedModel([]), { search: async () => [] }, "key");
    expect(Object.keys(agent.tools)).toEqual([
      "memory",
      "lookup_history",
      "retrieve_context_objs",
      "get_context_obj_lines",
      "http_request",
      "fetch_web_content",
      "search_web",
    ]);
  });
});
