/**
 * `mcp` lets an MCP server answer with generated tools and results, over real HTTP.
 * Invariant: an answer can make the source or one call fail, but never throws outside of them.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mcpServer } from "@turnstream/mcp";
import fc from "fast-check";
import { objectWith } from "../arbitraries.ts";
import { generate, measureLongest, type Target } from "../target.ts";

const MAX_ANSWER = 200_000;

const TOOL_FIELDS = [
  "name",
  "title",
  "description",
  "inputSchema",
  "outputSchema",
  "annotations",
  "execution",
];
const RESULT_FIELDS = [
  "content",
  "structuredContent",
  "isError",
  "_meta",
  "resource",
  "text",
  "data",
  "type",
];

const someTool = fc.oneof(
  objectWith(TOOL_FIELDS, { name: "t", inputSchema: { type: "object" } }),
  objectWith(TOOL_FIELDS, { name: "t", inputSchema: { type: "object" }, outputSchema: { type: "object" } }),
  objectWith(TOOL_FIELDS),
);
const someContent = objectWith(RESULT_FIELDS, { type: "text", text: "x" });
const answers = fc.record({
  list: fc.oneof(
    fc.array(someTool, { maxLength: 4 }).map((tools) => `{"tools":[${tools.join(",")}]}`),
    objectWith(["tools", "nextCursor", "_meta"]),
  ),
  call: fc.oneof(
    fc.array(someContent, { maxLength: 4 }).map((content) => `{"content":[${content.join(",")}]}`),
    objectWith(RESULT_FIELDS, { content: [] }),
  ),
});

const WELCOME = JSON.stringify({
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "fuzz", version: "1" },
});

function reply(response: ServerResponse, id: unknown, result: string): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result.slice(0, MAX_ANSWER)}}`);
}

export const mcp: Target = {
  name: "mcp",
  about: "tools and results of MCP servers",
  async open() {
    let current = { list: "{}", call: "{}" };
    const server = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        if (incoming.method !== "POST") {
          response.writeHead(405).end();
          return;
        }
        const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as {
          id?: unknown;
          method?: string;
        };
        if (id === undefined) response.writeHead(202).end();
        else if (method === "tools/list") reply(response, id, current.list);
        else if (method === "tools/call") reply(response, id, current.call);
        else reply(response, id, WELCOME);
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const rejections: unknown[] = [];
    const onRejection = (error: unknown): void => void rejections.push(error);
    process.on("unhandledRejection", onRejection);
    return {
      async runCase(seed) {
        current = generate(answers, seed);
        const source = mcpServer({ name: "odd", label: "Odd", url });
        const env = { now: Date.now, id: () => "id", randomBytes: (size: number) => new Uint8Array(size) };
        const usedMs = await measureLongest(async () => {
          const connection = source.open({ env, onError: () => {} });
          try {
            const context = { signal: AbortSignal.timeout(2_000), progress: () => {} };
            for (const tool of Object.values(await connection.tools()))
              await tool.run({}, context as unknown as Parameters<typeof tool.run>[1]);
          } catch {
            // The source or the call failed, as it may.
          } finally {
            await connection.close();
          }
        });
        const [rejection] = rejections.splice(0);
        return {
          usedMs,
          ...(rejection === undefined
            ? {}
            : { crash: rejection instanceof Error ? rejection.message : "rejected without an error" }),
        };
      },
      close: async () => {
        process.off("unhandledRejection", onRejection);
        server.closeAllConnections();
        await new Promise((resolve) => void server.close(resolve));
      },
    };
  },
};
