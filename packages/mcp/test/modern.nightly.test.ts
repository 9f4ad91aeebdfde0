/**
 * Tests a server with the 2026 version of the protocol: it has no sessions, and a request for input is a result of the
 * call.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { listBlocks } from "@turnstream/protocol";
import { mcpServer } from "../src/server.ts";
import { submitForm } from "../../server/src/session/interactions/submit-form.ts";
import { outline, TurnHarness } from "../../server/test/engine/turn-harness.ts";
import { Caller } from "./fake-call.ts";
import { inMemory } from "./connect.ts";

let harness: TurnHarness;
let server: Server;
let eras: Set<string>;
const tools = new Set(["ok"]);
const handler = createMcpHandler(({ era }) => {
  eras.add(era);
  const made = new McpServer(
    { name: "modern", version: "1" },
    { capabilities: { tools: { listChanged: true } } },
  );
  for (const name of tools)
    made.registerTool(name, {}, () => ({ content: [{ type: "text", text: `${name} done` }] }));
  made.registerTool("ask", {}, (context) => {
    const answer = context.mcpReq.inputResponses?.["name"];
    if (answer !== undefined) return { content: [{ type: "text", text: JSON.stringify(answer) }] };
    const requestedSchema = {
      type: "object" as const,
      properties: { who: { type: "string" as const } },
      required: ["who"],
    };
    const name = inputRequired.elicit({ message: "Who?", requestedSchema });
    return inputRequired({ inputRequests: { name } });
  });
  return made;
});

const serve = toNodeHandler(handler);

beforeEach(async () => {
  eras = new Set();
  harness = await TurnHarness.open(await inMemory());
  server = createServer((request, response) => void serve(request as never, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await harness.close();
  await handler.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it("negotiates the 2026 version, asks with a form, and notifies of changed tools", async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const caller = new Caller(mcpServer({ name: "new", url }), [["new_ok"], ["new_ask"]]);
  await harness.worker([caller.agent]);
  const ref = await harness.session();
  await harness.send(ref, "go");
  const asked = await harness.until(ref, 40_000, async (state) => {
    const turn = state.turns.last();
    const form = turn === undefined ? undefined : listBlocks(turn).find((block) => block.kind === "form");
    const rows = await harness.backend.store.interactions.list(ref, { pending: true });
    return form !== undefined && rows.length > 0 ? form : null;
  });
  await submitForm(harness.backend, ref, { form: asked.form, values: { who: "Ada" } });
  const turn = await harness.ended(ref, () => true);
  expect(outline(turn)).toContain("result new_ok success ok done");
  expect(JSON.parse(String(caller.results[1]))).toEqual({ action: "accept", content: { who: "Ada" } });
  expect([...eras]).toEqual(["modern"]);

  tools.add("newer");
  handler.notify.toolsChanged();
  // The notification arrives some time later, and a turn has the tools that were known when it started.
  const again = async () => {
    const before = caller.steps.length;
    const next = await harness.session();
    await harness.send(next, "again");
    await harness.until(next, 30_000, () => (caller.steps.length > before ? true : null));
    return caller.steps.at(-1)?.tools.map(({ name }) => name);
  };
  await expect.poll(again).toContain("new_newer");
  expect(harness.errors).toEqual([]);
});
