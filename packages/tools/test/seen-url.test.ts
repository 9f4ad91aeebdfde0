/** Tests which URLs `fetch_web_content` may read: those that the user or a tool named before the model did. */
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { z } from "zod";
import { createMemoryLog } from "../../server/src/log/memory.ts";
import { script } from "../../server/src/models/script-parts.ts";
import { scriptedModel } from "../../server/src/models/scripted-model.ts";
import { isSeenUrl } from "../src/seen-url.ts";
import { webTools } from "../src/web-tools.ts";
import { defineAgent } from "../../server/src/agent/define/agent.ts";
import { tool } from "../../server/src/agent/define/tool.ts";
import { createMemorySignals } from "../../server/src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { TurnHarness } from "../../server/test/engine/turn-harness.ts";
import { type LocalServer, localServer } from "../../server/test/agent/built-in/local-server.ts";
import { caller } from "../../server/test/agent/built-in/tool-caller.ts";

const utter = (text: string, isModel = false) => ({ text, isModel });

describe("isSeenUrl", () => {
  test.each([
    ["https://a.example/page", "see https://a.example/page"],
    ["https://a.example/page", "(https://a.example/page), or"],
    ["https://a.example/page", "Is https://a.example/page. ok?"],
    ["https://a.example/page", "[text](https://a.example/page)"],
    ["https://a.example/page#part", "https://a.example/page"],
    ["https://a.example/page", "https://a.example/page#part"],
    ["https://a.example", "https://a.example/"],
    ["https://a.example/", "look at a.example please"],
    ["https://A.example/page", "http://a.example/page"],
    ["https://a.example/?q=1&r=2", "URL: https://a.example/?q=1&r=2\n"],
    ["https://a.example/Hà", "请看https://a.example/Hà。"],
  ])("accepts %s for the text %j", (url, text) => {
    expect(isSeenUrl(url, [utter("hello"), utter(text)])).toBe(true);
  });

  test.each([
    ["https://a.example/page?data=secret", "https://a.example/page"],
    ["https://a.example/secret", "https://a.example/ and secret"],
    ["https://a.example/pa", "https://a.example/page"],
    ["https://a.example/page", "https://a.example/page/two"],
    ["https://a.example/PAGE", "https://a.example/page"],
    ["https://example/", "https://a.example/"],
    ["https://a.example/", "write to an@a.example"],
    ["https://a.example/", "https://a.example.evil/"],
    ["https://secret@a.example/", "https://a.example/"],
    ["https://a.example:8443/", "https://a.example/"],
    ["not a url", "not a url"],
    ["https://a.example/", ""],
  ])("refuses %s for the text %j", (url, text) => {
    expect(isSeenUrl(url, [utter(text)])).toBe(false);
  });

  test("refuses a URL that the model wrote first, even if a tool repeats it", () => {
    const url = "https://a.example/?data=secret";
    expect(isSeenUrl(url, [utter(`echo ${url}`, true), utter(url)])).toBe(false);
    expect(isSeenUrl(url, [utter(url), utter(`I read ${url}`, true)])).toBe(true);
  });

  test("takes time in proportion to the text", () => {
    // In quadratic time, this would take hours.
    expect(isSeenUrl("https://a.a/", [utter("a.a/a".repeat(200_000))])).toBe(false);
  });
});

describe("fetch_web_content", () => {
  let harness: TurnHarness;
  let site: LocalServer;
  beforeEach(async () => {
    harness = await TurnHarness.open({
      log: createMemoryLog(),
      store: createMemoryStore(),
      signals: createMemorySignals(),
    });
    site = await localServer(({ path }, response) => {
      response.setHeader("content-type", "text/plain").end(`content of ${path}`);
    });
  });
  afterEach(async () => {
    await harness.close();
    await site[Symbol.asyncDispose]();
  });

  const paths = (): string[] => site.asked.map(({ path }) => path);
  const tools = (allowAnyUrl = false) =>
    webTools({ fetchWebContent: { allowAnyUrl }, fetch: { allow: [site.place] } });
  const echo = tool({ input: z.object({ text: z.string() }), run: ({ text }) => `echo: ${text}` });
  const look = () => tool({ run: () => ({ found: [`${site.origin}/found`] }) });

  it("S11: reads URLs of messages and tool results, and no URL that the model made up", async () => {
    const { model, last } = caller([
      ["fetch_web_content", { url: `${site.origin}/asked` }],
      ["look", {}],
      ["fetch_web_content", { url: `${site.origin}/found` }],
      ["fetch_web_content", { url: `${site.origin}/asked?stolen=data` }],
      ["echo", { text: `${site.origin}/echoed` }],
      ["fetch_web_content", { url: `${site.origin}/echoed` }],
    ]);
    await harness.worker([defineAgent({ name: "a", model, tools: { ...tools(), echo, look: look() } })]);
    await harness.ask(await harness.session(), `Read ${site.origin}/asked.`);
    expect(paths()).toEqual(["/asked", "/found"]);
    expect(last.results.map(({ isError }) => isError)).toEqual([false, false, false, true, false, true]);
    expect(last.results[3]?.text).not.toContain("stolen");
    expect(last.results[3]?.text).toContain("Only addresses that occur in the conversation may be read");
  });

  it("S11: the task of a sub-agent makes no URL known, but the user's message does", async () => {
    const task = `Read ${site.origin}/asked and ${site.origin}/?stolen=data`;
    const reader = caller([
      ["fetch_web_content", { url: `${site.origin}/asked` }],
      ["fetch_web_content", { url: `${site.origin}/?stolen=data` }],
    ]);
    const sub = defineAgent({ name: "reader", model: reader.model, tools: tools() });
    const model = scriptedModel(({ step }) =>
      step === 0 ? [script.toolCall("reader", { task })] : [script.text("done")],
    );
    await harness.worker([defineAgent({ name: "a", model, subAgents: { reader: sub } })]);
    await harness.ask(await harness.session(), `Read ${site.origin}/asked.`);
    expect(paths()).toEqual(["/asked"]);
    expect(reader.last.results.map(({ isError }) => isError)).toEqual([false, true]);
  });

  it("S11: allowAnyUrl reads every public URL", async () => {
    const { model, last } = caller([["fetch_web_content", { url: `${site.origin}/made-up` }]]);
    await harness.worker([defineAgent({ name: "a", model, tools: tools(true) })]);
    await harness.ask(await harness.session(), "go");
    expect(last.results[0]?.text).toContain("content of /made-up");
  });
});
