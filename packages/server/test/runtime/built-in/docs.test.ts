/** Checks that the code in the documents is the code that is compiled and run here. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { builtInTools } from "../../../src/runtime/built-in/tools.ts";
import { defineAgent } from "../../../src/runtime/define/agent.ts";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

test.each(["vector-search.ts", "import-knowledge.ts"])("knowledge.md prints %s", (example) => {
  const code = read(`examples/${example}`).replace(/^\/\*\*.*?\*\/\n/s, "");
  expect(read("../../../../../docs/knowledge.md")).toContain(`\`\`\`ts\n${code}\`\`\``);
});

test("a tool can be copied and changed, as its types declare", () => {
  const tools = builtInTools({ memory: false, lookupHistory: true });
  const lookup_history = { ...tools.lookup_history, approval: true };
  const agent = defineAgent({ name: "a", model: scriptedModel([]), tools: { ...tools, lookup_history } });
  expect(agent.tools["lookup_history"]).toMatchObject({ approval: true });
  expect(tools["memory"]).toBeUndefined();
});
