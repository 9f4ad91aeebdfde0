/** Tests what is specific to HTTP: secret headers, lost sessions, and responses that are cut off or never end. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { McpHttpOptions } from "../src/options.ts";
import { mcpServer } from "../src/server.ts";
import { outline, TurnHarness } from "../../server/test/engine/turn-harness.ts";
import { Caller, type Wanted } from "./fake-call.ts";
import { inMemory } from "./connect.ts";

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly protocolVersion?: string };
}

let harness: TurnHarness;
let server: Server;
let seen: string[];
/** The sessions that the server still knows. */
let sessions: Set<string>;
beforeEach(async () => {
  harness = await TurnHarness.open(await inMemory());
  seen = [];
  sessions = new Set();
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await harness.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return void response.writeHead(405).end();
  let body = "";
  for await (const chunk of request) body += String(chunk);
  const { id, method, params } = JSON.parse(body) as Request;
  seen.push(`${method} ${request.headers.authorization}`);
  const session = String(request.headers["mcp-session-id"]);
  if (method === "initialize") {
    const name = `s${seen.length}`;
    sessions.add(name);
    const serverInfo = { name: "raw", version: "1" };
    const result = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
    return json(response, { id, result }, { "mcp-session-id": name });
  }
  if (!sessions.has(session)) return void response.writeHead(404).end("no such session");
  if (id === undefined) return void response.writeHead(202).end();
  const inputSchema = { type: "object" };
  const tools = ["ok", "leak", "cut", "flood", "forget"].map((name) => ({ name, inputSchema }));
  if (method === "tools/list") return json(response, { id, result: { tools } });
  switch (params?.name) {
    case "leak":
      return void response.writeHead(500).end(`broken for ${request.headers.authorization}`);
    case "cut":
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": on my way\n\n");
      return void setTimeout(() => response.destroy(), 50);
    case "flood":
      response.writeHead(200, { "content-type": "application/json" });
      response.on("drain", () => response.write("x".repeat(1_000_000)));
      return void response.write("x".repeat(1_000_000));
    case "forget":
      sessions.clear();
      break;
    default:
  }
  return json(response, { id, result: { content: [{ type: "text", text: `${params?.name} done` }] } });
}

function json(response: ServerResponse, message: object, headers: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

async function play(calls: readonly Wanted[], more: Partial<McpHttpOptions> = {}) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?key=in-the-address`;
  const caller = new Caller(mcpServer({ name: "raw", url, ...more }), calls);
  await harness.worker([caller.agent]);
  const turn = await harness.ask(await harness.session(), "go");
  return { caller, turn };
}

describe("MCP server over HTTP", () => {
  it("receives its headers, and no error or event contains them", async () => {
    const authorization = "Bearer sesame-open";
    const { caller, turn } = await play([["raw_leak"], ["raw_ok"]], { headers: { authorization } });
    expect(new Set(seen.map((line) => line.split(" ").slice(1).join(" ")))).toEqual(new Set([authorization]));
    expect(String(caller.results[0])).toContain("broken for [redacted]");
    expect(caller.results[1]).toBe("ok done");
    const all = JSON.stringify([outline(turn), harness.errors.map(({ error }) => String(error))]);
    expect(all).not.toMatch(/sesame|in-the-address/);
    expect(harness.errors.length).toBeGreaterThan(0);
  });

  it("gets new headers from the function for each request", async () => {
    let n = 0;
    await play([["raw_ok"]], { headers: async () => ({ authorization: `Bearer token-${n++}` }) });
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.at(-1)).toMatch(/^tools\/call Bearer token-/);
  });

  it("does not follow a redirect to another origin, and sends no headers there", async () => {
    const asked: (string | undefined)[] = [];
    const elsewhere = createServer((request, response) => {
      asked.push(request.url);
      void answer(request, response);
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
    const moved = createServer((_, response) => {
      const { port } = elsewhere.address() as AddressInfo;
      response.writeHead(307, { location: `http://127.0.0.1:${port}/mcp` }).end();
    });
    await new Promise<void>((resolve) => moved.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(moved.address() as AddressInfo).port}/mcp`;
      const { caller } = await play([["raw_ok"]], { url, headers: { "x-api-key": "sesame-open" } });
      expect(asked).toEqual([]);
      expect(String(caller.results[0])).not.toContain("ok done");
    } finally {
      for (const one of [elsewhere, moved]) {
        one.closeAllConnections();
        one.close();
      }
    }
  });

  it("initializes a new session when the server forgot the old one, and makes the call", async () => {
    const { caller } = await play([["raw_forget"], ["raw_ok"]]);
    expect(caller.results).toEqual(["forget done", "ok done"]);
    expect(seen.filter((line) => line.startsWith("initialize"))).toHaveLength(2);
  });

  it("returns an error result immediately when a response is cut off, and the next call works", async () => {
    const began = performance.now();
    const { caller } = await play([["raw_cut"], ["raw_ok"]]);
    expect(String(caller.results[0])).toContain("The connection ended before the server answered.");
    expect(caller.results[1]).toBe("ok done");
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it("stops reading a response that never ends", async () => {
    const { caller } = await play([["raw_flood"], ["raw_ok"]]);
    expect(String(caller.results[0])).toMatch(/TOO_LARGE|more than/);
    expect(caller.results[1]).toBe("ok done");
  });
});
