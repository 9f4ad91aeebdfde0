/** Tests the documents' code for knowledge bases, which are in PostgreSQL. */
import { createOpenAI } from "@ai-sdk/openai";
import { afterEach, beforeEach, expect, test } from "vitest";
import { builtInTools } from "../../../src/runtime/built-in/tools.ts";
import { defineAgent } from "../../../src/runtime/define/agent.ts";
import { openRealBackend } from "../real-backend.ts";
import { TurnHarness } from "../turn-harness.ts";
import { importFaq } from "./examples/import-knowledge.ts";
import { vectorSearch } from "./examples/vector-search.ts";
import { localServer } from "./local-server.ts";
import { caller } from "./tool-caller.ts";

let harness: TurnHarness;
beforeEach(async () => {
  harness = await TurnHarness.open(await openRealBackend());
});
afterEach(() => harness.close());

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
  expect(await store.knowledge.search(tenant, ["faq"], { text: "open", limit: 5 })).toMatchObject([
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
  await store.knowledge.put(tenant, "help", { id: "w", title: "Terms", text: "a bird by its word" });
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
  const tools = builtInTools({ knowledge: { bases: ["help"], search } });
  await harness.worker([defineAgent({ name: "a", model, tools })]);
  await harness.ask(await harness.session(), "go");
  const { results } = last;
  expect(results[0]?.text).toMatch(/Herons wade[.].*a bird by its word/s);
  expect(results[0]?.text).not.toContain("another");
});
