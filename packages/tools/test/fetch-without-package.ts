/** A program for tests: without `@turnstream/files`, it fetches a text and a page. Prints the results as JSON. */
import { createMemoryStore } from "@turnstream/testing";
import { createMemoryLog } from "../../server/src/log/memory.ts";
import { defineAgent } from "../../server/src/agent/define/agent.ts";
import { createMemorySignals } from "../../server/src/signals/memory.ts";
import { localServer } from "../../server/test/agent/built-in/local-server.ts";
import { caller } from "../../server/test/agent/built-in/tool-caller.ts";
import { TurnHarness } from "../../server/test/engine/turn-harness.ts";
import { hideFilesPackage } from "../../server/test/text-extraction/hide-files-package.ts";
import { webTools } from "../src/web-tools.ts";

hideFilesPackage();

await using site = await localServer(({ path }, response) => {
  response.end(path === "/text" ? "Plain text." : "<p>Found.</p>");
});
const harness = await TurnHarness.open({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
});
const calls = ["/text", "/page"].map(
  (path) => ["fetch_web_content", { url: `${site.origin}${path}` }] as const,
);
const { model, last } = caller(calls);
const tools = webTools({ fetchWebContent: true, fetch: { allow: [site.place] } });
await harness.worker([defineAgent({ name: "a", title: false, model, tools })]);
await harness.ask(await harness.session(), JSON.stringify(calls));
const errors = harness.errors.map(({ error }) => String(error));
process.stdout.write(JSON.stringify({ results: last.results.map(({ text }) => text), errors }));
await harness.close();
