/** The code in docs/gateway.md is the code that is compiled and run here. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { freshDatabaseUrl, sharedRedisUrl } from "@turnstream/services/shared.ts";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { handlersOf } from "./examples/as-handler.ts";
import { firstKey } from "./examples/first-key.ts";
import { ownApp } from "./examples/in-fastify.ts";
import { socketAddress, tokenFor } from "./examples/let-in.ts";
import { startServer } from "./examples/start-server.ts";
import { memoryParts } from "./server.ts";

const SECRET = "a secret of at least 32 bytes, or so";
const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

test.each(["start-server", "first-key", "let-in", "in-fastify", "as-handler"])(
  "docs/gateway.md prints %s",
  (example) => {
    const code = read(`examples/${example}.ts`).replace(/^\/\*\*.*?\*\/\n+/s, "");
    expect(read("../../../../docs/gateway.md")).toContain(`\`\`\`ts\n${code}\`\`\``);
  },
);

test("a server is started, and a person let in", async () => {
  const { url, store, close } = await startServer(sharedRedisUrl(), await freshDatabaseUrl(), SECRET, 0);
  const api = url.replace("0.0.0.0", "127.0.0.1");
  const token = await tokenFor(api, await firstKey(store), "linh");
  const made = await fetch(`${api}/api/v1/sessions`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  const { session_id } = (await made.json()) as { session_id: string };
  const socket = new WebSocket(await socketAddress(api, token), { origin: api });
  await once(socket, "open");
  socket.send(JSON.stringify({ type: "subscribe", session_id }));
  const [data] = (await once(socket, "message")) as [Buffer];
  expect(JSON.parse(data.toString())).toMatchObject({ type: "subscribed", session_id, reason: "fresh" });
  const closed = once(socket, "close");
  await close();
  expect((await closed)[0]).toBe(1012);
});

test("it is part of another app, or a function", async () => {
  const options = { ...memoryParts(), secrets: [SECRET] as const };
  const key = await firstKey(options.store);
  const app = await ownApp(options);
  const url = await app.listen();
  const headers = { "x-api-key": key };
  expect(await (await fetch(url)).text()).toBe("your own routes stay as they are");
  expect((await fetch(`${url}/api/v1/sessions`, { headers })).status).toBe(200);
  await app.close();
  const { GET } = handlersOf(options);
  expect((await GET(new Request("http://x/api/v1/sessions", { headers }))).status).toBe(200);
});
