/** Checks that the code in docs/gateway.md is the code that is compiled and run here. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { freshDatabaseUrl, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { TurnHarness } from "../engine/turn-harness.ts";
import { handlersOf } from "./examples/as-handler.ts";
import { firstKey } from "./examples/first-key.ts";
import { ownApp } from "./examples/in-fastify.ts";
import { socketAddress, tokenFor } from "./examples/authenticate-users.ts";
import { ask } from "./examples/post-and-read.ts";
import { startServer } from "./examples/start-server.ts";
import { watch } from "./examples/subscribe-socket.ts";
import { openServer, createMemoryBackend } from "./test-server.ts";

const SECRET = "a secret of at least 32 bytes, or so";
const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

const EXAMPLES = [
  "start-server",
  "first-key",
  "authenticate-users",
  "in-fastify",
  "as-handler",
  "in-hono",
  "in-node",
  "subscribe-socket",
  "post-and-read",
];

test.each(EXAMPLES)("docs/gateway.md prints %s", (example) => {
  const code = read(`examples/${example}.ts`).replace(/^\/\*\*.*?\*\/\n+/s, "");
  expect(read("../../../../docs/gateway.md")).toContain(`\`\`\`ts\n${code}\`\`\``);
});

test("starts a server and authenticates a user", async () => {
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

test("runs inside another app, or as a function", async () => {
  const options = { ...createMemoryBackend(), secrets: [SECRET] as const };
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

async function until(isSo: () => boolean): Promise<void> {
  for (let n = 0; n < 3_000 && !isSo(); n++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(isSo()).toBe(true);
}

/** The socket of a page sends the page's origin. */
class PageSocket extends WebSocket {
  constructor(address: string) {
    super(address, { origin: new URL(address).origin.replace("ws", "http") });
  }
}

test("sends a message and reads the answer while another page watches and reconnects", async () => {
  const stage = await TurnHarness.open(createMemoryBackend());
  await stage.worker([
    defineAgent({ name: "a", model: scriptedModel(({ text }) => [script.text(`You wrote ${text}.`)]) }),
  ]);
  const first = await openServer(stage.backend, { actor: stage.actor });
  const ref = await stage.session();
  const { token } = (await first.request("POST", "/tokens", { body: { user_id: stage.actor.user } }))
    .json as {
    token: string;
  };
  let server = first;
  vi.stubGlobal("WebSocket", PageSocket);
  const started: string[] = [];
  const seen: string[] = [];
  const leave = watch({
    session: ref.session,
    address: () => socketAddress(server.url, token),
    onSubscribed: ({ reason }) => void started.push(reason),
    frame: (frame) => void seen.push(JSON.stringify(frame)),
  });
  await until(() => started.length === 1);
  let text = "";
  expect(await ask(server.url, server.auth, ref.session, "hello", (more) => (text += more))).toBe(
    "You wrote hello.",
  );
  expect(text).toBe("You wrote hello.");
  await until(() => seen.some((frame) => frame.includes("message_stop")));
  server = await openServer(stage.backend, { actor: stage.actor, secrets: first.secrets });
  await first.close();
  await until(() => started.length === 2);
  expect(started).toEqual(["fresh", "cursor"]);
  leave();
  vi.unstubAllGlobals();
  await server.close();
  await stage.close();
});
