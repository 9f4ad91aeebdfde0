/**
 * This program is the server of a developer who has made a mistake, for mistakes.browser.nightly.test.ts. It calls
 * `turnstream()` like any app. With PAGE_URL it also serves the page of a chat on its own origin.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createAnthropic } from "@ai-sdk/anthropic";
import { defineAgent, tool, ToolError, turnstream } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";
import { LONG_ANSWER } from "../agents.ts";

const { MODEL_URL: baseURL = "http://127.0.0.1:1", MODEL_KEY: apiKey, PAGE_URL, RUNS_TURNS } = process.env;
const anthropic = createAnthropic({ baseURL, ...(apiKey !== undefined && { apiKey }) });
const keyless = createAnthropic({ baseURL });

const buy = tool({
  run() {
    throw new ToolError("The market is closed.");
  },
});

const base = { title: false, retry: { maxAttempts: 1 } } as const;
const agents = [
  // The page names this agent.
  defineAgent({ ...base, name: LONG_ANSWER, model: anthropic("model-401") }),
  ...["404", "400", "429", "500"].map((status) =>
    defineAgent({ ...base, name: `status-${status}`, model: anthropic(`model-${status}`) }),
  ),
  defineAgent({ ...base, name: "keyless", model: keyless("model") }),
  defineAgent({
    ...base,
    name: "market",
    tools: { buy },
    model: scriptedModel([[script.toolCall("buy")], [script.text("It is closed.")]]),
  }),
];

const app = turnstream({ agents, user: () => "an", runsTurns: RUNS_TURNS !== "false" });
if (RUNS_TURNS === "false") {
  // The worker of an earlier start has registered the agent.
  const { store } = await app.parts();
  await store.agents.register([{ name: LONG_ANSWER, label: "", description: "", inputs: ["text"] }]);
}
if (PAGE_URL === undefined) await app.listen();
else {
  const server = createServer((incoming, outgoing) => {
    const answer = async (): Promise<void> => {
      const { method = "GET", headers, url = "/" } = incoming;
      const body = method === "GET" ? null : (Readable.toWeb(incoming) as ReadableStream);
      const init = { method, headers: headers as Record<string, string>, body, duplex: "half" };
      const response = url.startsWith("/api/")
        ? await app.handle(new Request(`http://${headers.host}${url}`, init))
        : await fetch(`${PAGE_URL}${url.replace(/^\/(?=$|[?])/, "/chat.html")}`);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      for await (const chunk of response.body ?? []) outgoing.write(chunk);
      outgoing.end();
    };
    answer().catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  console.error(`Turnstream listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}
