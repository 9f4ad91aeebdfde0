/** Tests the tools of knowledge bases in turns, and the documents' code: an import and a search by meaning. */
import { createOpenAI } from "@ai-sdk/openai";
import { openDatabase, removeFeature } from "@turnstream/server";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defineAgent } from "../../server/src/agent/define/agent.ts";
import { localServer } from "../../server/test/agent/built-in/local-server.ts";
import { caller } from "../../server/test/agent/built-in/tool-caller.ts";
import { openBackendOn } from "../../server/test/engine/real-backend.ts";
import { outline, TurnHarness } from "../../server/test/engine/turn-harness.ts";
import { knowledgeTools } from "../src/knowledge-tools.ts";
import { knowledgeOf } from "../src/store/knowledge-of.ts";
import { importFaq } from "./examples/import-knowledge.ts";
import { vectorSearch } from "./examples/vector-search.ts";

let databaseUrl: string;
let harness: TurnHarness;
beforeEach(async () => {
  databaseUrl = await migratedDatabaseUrl();
  harness = await TurnHarness.open(await openBackendOn(sharedRedisUrl(), databaseUrl));
});
afterEach(() => harness.close());

test("S11: retrieve_context_objs and get_context_obj_lines find and read content that can be cited", async () => {
  const { model, last } = caller([
    ["retrieve_context_objs", { query: "營業時間" }],
    ["get_context_obj_lines", { object: "hours.md", from: 2, to: 3 }],
    ["get_context_obj_lines", { object: "hours.md", from: 90 }],
    ["get_context_obj_lines", { object: "none.md" }],
    ["retrieve_context_objs", { query: "heron" }],
  ]);
  const tools = knowledgeTools({ bases: ["help"] });
  await harness.worker([defineAgent({ name: "a", model, tools })]);
  const knowledge = knowledgeOf(harness.backend.store);
  const { tenant } = harness.actor;
  const url = "https://example.com/hours";
  await knowledge.put(tenant, "help", {
    id: "hours.md",
    title: "Hours",
    url,
    text: "# 營業時間\n週一至週五\n週末休息",
  });
  await knowledge.put(tenant, "help", { id: "other.md", title: "Other", text: "退款政策" });
  await knowledge.put(tenant, "secret", { id: "none.md", title: "Secret", text: "heron 營業時間" });
  const turn = await harness.ask(await harness.session(), "go");
  const [found, lines, beyond, missing, nothing] = last.results;
  expect(found?.text).toContain("Object: hours.md");
  expect(found?.text).toContain("Lines: 1-3");
  expect(found?.text).not.toContain("退款");
  expect(found?.text).not.toContain("Secret");
  expect(lines?.text).toContain("2: 週一至週五\n3: 週末休息");
  expect(beyond).toMatchObject({ isError: true, text: "It has 3 lines." });
  expect(missing).toMatchObject({ isError: true });
  expect(nothing?.text).toContain("Nothing was found");
  expect(outline(turn).filter((line) => line.startsWith("result"))).toEqual([
    "result retrieve_context_objs success 1 passage",
    "result get_context_obj_lines success Hours, 2-3",
    "result get_context_obj_lines error No such lines.",
    "result get_context_obj_lines error There is no such object.",
    "result retrieve_context_objs success Nothing found",
  ]);
});

test("S11: if two bases have an object of the same name, the requested one is read", async () => {
  const { model, last } = caller([
    ["get_context_obj_lines", { object: "a", base: "two" }],
    ["get_context_obj_lines", { object: "a" }],
  ]);
  const tools = knowledgeTools({ bases: ["one", "two"] });
  await harness.worker([defineAgent({ name: "a", model, tools })]);
  for (const base of ["one", "two"])
    await knowledgeOf(harness.backend.store).put(harness.actor.tenant, base, {
      id: "a",
      title: base,
      text: `of ${base}`,
    });
  await harness.ask(await harness.session(), "go");
  expect(last.results[0]?.text).toContain("1: of two");
  expect(last.results[1]?.text).toContain("1: of one");
});

test("S11: the knowledge of another tenant is not reachable, whatever the model asks for", async () => {
  const { model, last } = caller([
    ["retrieve_context_objs", { query: "heron" }],
    ["get_context_obj_lines", { object: "a", base: "help" }],
    ["get_context_obj_lines", { object: "b", base: "private" }],
  ]);
  const tools = knowledgeTools({ bases: ({ user }) => (user === "boss" ? ["private"] : ["help"]) });
  await harness.worker([defineAgent({ name: "a", model, tools })]);
  const other = `${harness.actor.tenant}-2`;
  await harness.backend.store.tenants.create({ id: other, name: "Another" });
  await knowledgeOf(harness.backend.store).put(other, "help", { id: "a", title: "A", text: "a heron" });
  await knowledgeOf(harness.backend.store).put(harness.actor.tenant, "private", {
    id: "b",
    title: "B",
    text: "a heron",
  });
  await harness.ask(await harness.session(), "go");
  expect(last.results.map(({ isError }) => isError)).toEqual([false, true, true]);
  expect(last.results[0]?.text).toContain("Nothing was found");
});

test("a call fails in a database without the tables of the feature, and the error says how to create them", async () => {
  const { model, last } = caller([["get_context_obj_lines", { object: "a" }]]);
  await harness.worker([defineAgent({ name: "a", model, tools: knowledgeTools({ bases: ["help"] }) })]);
  const db = openDatabase({ url: databaseUrl });
  expect(await removeFeature(db, "knowledge")).toBe(true);
  await db.destroy();
  await harness.ask(await harness.session(), "go");
  expect(last.results).toMatchObject([{ isError: true }]);
  const [{ error } = { error: null }] = harness.errors;
  expect(error).toMatchObject({ code: "NOT_MIGRATED" });
  expect(String(error)).toMatch(/knowledge.*`turnstream migrate` first, with `--feature`/);
});

test("an import writes only changed objects and removes missing ones", async () => {
  const { store } = harness.backend;
  const { tenant } = harness.actor;
  const faq = new Map([
    ["When are you open?", "From nine to six."],
    ["Where are you?", "In Huế."],
  ]);
  expect(await importFaq(store, tenant, faq)).toMatchObject({ created: 2, failed: [] });
  faq.set("Where are you?", "In Đà Nẵng.");
  expect(await importFaq(store, tenant, faq)).toMatchObject({ created: 0, replaced: 1, unchanged: 1 });
  faq.delete("Where are you?");
  expect(await importFaq(store, tenant, faq)).toMatchObject({ unchanged: 1, removed: 1 });
  expect(await knowledgeOf(store).search(tenant, ["faq"], { text: "open", limit: 5 })).toMatchObject([
    { title: "When are you open?", url: "https://acme.example/faq#0" },
  ]);
});

test("S11: retrieve_context_objs uses a custom search, which can't reach other bases", async () => {
  await using service = await localServer(({ body }, response) => {
    const { input } = JSON.parse(body) as { input: string | string[] };
    const embedding = String(input).includes("bird") ? [1, 0] : [0, 1];
    response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ object: "list", data: [{ index: 0, embedding }], usage: { prompt_tokens: 1 } }));
  });
  const { store } = harness.backend;
  const { tenant } = harness.actor;
  await knowledgeOf(store).put(tenant, "help", { id: "w", title: "Terms", text: "a bird by its word" });
  const piece = {
    object: "v",
    title: "Herons",
    url: null,
    firstLine: 1,
    lastLine: 2,
    text: "Herons wade.",
  };
  const pieces = [
    { ...piece, tenant, base: "help", vector: [1, 0.1] },
    { ...piece, tenant: "another", base: "help", text: "another tenant's", vector: [1, 0] },
    { ...piece, tenant, base: "secret", text: "another base's", vector: [1, 0] },
  ];
  const provider = createOpenAI({ apiKey: "key", baseURL: `${service.origin}/v1` });
  const search = vectorSearch(provider.embedding("text-embedding-3-small"), pieces, store);
  const { model, last } = caller([["retrieve_context_objs", { query: "bird" }]]);
  const tools = knowledgeTools({ bases: ["help"], search });
  await harness.worker([defineAgent({ name: "a", model, tools })]);
  await harness.ask(await harness.session(), "go");
  const { results } = last;
  expect(results[0]?.text).toMatch(/Herons wade[.].*a bird by its word/s);
  expect(results[0]?.text).not.toContain("another");
});
