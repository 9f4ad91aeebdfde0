/** Checks that the code in the documents is the code that is compiled and run here. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { builtInTools } from "../../../src/runtime/built-in/tools.ts";
import { defineAgent } from "../../../src/runtime/define/agent.ts";
import { createMemoryStore } from "../../../src/store/memory/store.ts";
import { helpDesk } from "./examples/agent-with-tools.ts";
import { importFaq } from "./examples/import-knowledge.ts";

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

  test("an import writes only changed objects and removes missing ones", async () => {
    const store = createMemoryStore();
    await store.tenants.create({ id: "acme", name: "Acme" });
    const faq = new Map([
      ["When are you open?", "From nine to six."],
      ["Where are you?", "In Huế."],
    ]);
    expect(await importFaq(store, "acme", faq)).toMatchObject({ created: 2, failed: [] });
    faq.set("Where are you?", "In Đà Nẵng.");
    expect(await importFaq(store, "acme", faq)).toMatchObject({ created: 0, replaced: 1, unchanged: 1 });
    faq.delete("Where are you?");
    expect(await importFaq(store, "acme", faq)).toMatchObject({ unchanged: 1, removed: 1 });
    expect(await store.knowledge.search("acme", ["faq"], { text: "open", limit: 5 })).toMatchObject([
      { title: "When are you open?", url: "https://acme.example/faq#0" },
    ]);
  });
});
