/**
 * Tests a gateway behind nginx with the configuration of docs/nginx.md: events arrive immediately, sockets work, and
 * subscribers resume exactly after a reload.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import { SessionClient } from "@turnstream/conformance/clients/session-client.ts";
import { type NginxServer, startNginx } from "@turnstream/testkit/servers/start-nginx.ts";
import { RenderedState } from "@turnstream/conformance/clients/rendered-state.ts";
import { framesFrom } from "@turnstream/conformance/support/replay.ts";
import { emptyState, snapshot } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { tasks } from "@turnstream/protocol/tasks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createServer, type Server } from "../../src/gateway/create-server.ts";
import { readHistory } from "../../src/session/history/read-history.ts";
import { listen } from "../safe-fetch/listeners.ts";
import { openRealBackend } from "../engine/real-backend.ts";
import type { HarnessBackend } from "../engine/turn-harness.ts";
import { SessionHarness } from "../session/session-harness.ts";

const page = readFileSync(new URL("../../../../docs/nginx.md", import.meta.url), "utf8");
const [http = "", main = ""] = [...page.matchAll(/```nginx\n([\s\S]*?)```/g)].map(([, lines]) => lines ?? "");

let parts: HarnessBackend;
let servers: Server[];
const nginxes: NginxServer[] = [];

beforeAll(async () => {
  parts = await openRealBackend();
  const { store, log, signals } = parts;
  const secrets = ["a secret of this test with enough characters"] as const;
  servers = [1, 2].map(() => createServer({ store, log, signals, secrets, trustProxy: "127.0.0.1" }));
  for (const server of servers) await server.listen();
});

afterAll(async () => {
  for (const each of nginxes) await each.stop();
  for (const server of servers) await server.close();
  await parts.signals.close();
  await parts.log.close();
  await parts.store.close();
});

/** The configuration of the page, with the addresses and timeouts of the test. */
async function nginx(
  change: (lines: string) => string = (lines) => lines,
  hosts = servers.map(({ url }) => new URL(url).host),
): Promise<NginxServer> {
  const started = await startNginx({
    main: replaced(main, "30s", "1s"),
    http: (port) => {
      const here = replaced(replaced(http, "127.0.0.1:3000", hosts[0]), "127.0.0.1:3001", hosts[1]);
      return change(replaced(here, "listen 8080;", `listen 127.0.0.1:${port};`));
    },
  });
  nginxes.push(started);
  return started;
}

function replaced(text: string, from: string, to: string | undefined): string {
  if (!text.includes(from) || to === undefined) throw new Error(`docs/nginx.md has no ${from}`);
  return text.replace(from, to);
}

async function session(url: string): Promise<{ world: SessionHarness; endpoint: Endpoint }> {
  const world = await (await SessionHarness.make(parts)).start();
  const { tenant, user } = world.actor;
  const { secret } = await parts.store.keys.create(tenant, { name: "test", scopes: [] });
  return { world, endpoint: { url, headers: { "x-api-key": secret, "x-user-id": user } } };
}

const title = (text: string) => ({ type: "session.update", title: text }) as const;
const BLOCK = { turn: "t1", run: "main", block: "b1", index: 0 } as const;
const turnStart = (message?: string): EventDraft[] => [
  {
    type: "turn.start",
    turn: "t1",
    number: 1,
    message_number: 1,
    agent: "a",
    mode: "agent",
    from_share: false,
    ...(message === undefined ? {} : { message }),
  },
  { type: "run.start", turn: "t1", run: "main", agent: "a" },
  { type: "text.start", ...BLOCK, part: false },
];
const TURN_END: readonly EventDraft[] = [
  { type: "text.end", ...BLOCK, final: true },
  { type: "run.end", turn: "t1", run: "main", status: "completed" },
  { type: "turn.end", turn: "t1", reason: "end_turn", duration_ms: 1 },
];
const WIRES = ["socket", "sse"] as const;

describe.each([
  ["with the documented configuration", (lines: string) => lines],
  // Streams work without this line too, because the gateway disables buffering with a header.
  ["without proxy_buffering off", (lines: string) => replaced(lines, "proxy_buffering off;", "")],
])("nginx %s", (_, change) => {
  test.each(WIRES)("passes every event immediately over %s", async (wire) => {
    const { world, endpoint } = await session((await nginx(change)).url);
    let arrived = 0;
    const subscriber = new SessionClient({
      session: world.ref.session,
      dialect: "native",
      wire,
      onFrame: ({ type }) => type === "session.update" && arrived++,
    }).connect(endpoint);
    await subscriber.until("subscribed", () => subscriber.rendered.starts.length > 0);
    for (let n = 1; n <= 6; n++) {
      await world.append(title(`step ${n}`));
      // A buffered event would never arrive, because nothing else is written.
      await subscriber.until(`step ${n}`, () => arrived >= n, 30_000);
    }
    expect(arrived).toBe(6);
    subscriber.cut();
  });
});

test.each(WIRES)("a subscriber resumes exactly after a reload over %s", async (wire) => {
  const proxy = await nginx();
  const { world, endpoint } = await session(proxy.url);
  const dialects = ["native", "blocks", "tasks"] as const;
  const subscribers = dialects.map((dialect) =>
    new SessionClient({ session: world.ref.session, dialect, wire }).connect(endpoint),
  );
  for (const subscriber of subscribers)
    await subscriber.until("subscribed", () => subscriber.rendered.starts.length > 0);
  await world.append(title("before"));
  await subscribers[0]?.until("there", () => subscribers[0]?.rendered.frames.length === 1);
  await world.append(...turnStart());
  const resumed = new AbortController();
  onTestFinished(() => resumed.abort());
  let steps = 0;
  const writing = (async () => {
    for (; !resumed.signal.aborted; steps++) {
      await world.append(title(`step ${steps}`), { type: "text.delta", ...BLOCK, text: `word ${steps} ` });
      await sleep(50);
    }
    await world.append(...TURN_END);
  })();
  await proxy.reload();
  for (const subscriber of subscribers)
    await subscriber.until("cut off by the reload", () => subscriber.end !== null);
  for (const subscriber of subscribers) subscriber.connect(endpoint);
  for (const subscriber of subscribers)
    await subscriber.until("resumed", () => subscriber.rendered.starts.length === 2);
  resumed.abort();
  await writing;
  const { state, cursor } = await readHistory(parts, world.ref);
  const [native, blocks, inTasks] = subscribers;
  for (const subscriber of subscribers) {
    await subscriber.until("caught up", () => subscriber.rendered.cursor === cursor);
    expect(subscriber.rendered.starts.at(-1)).toEqual({ resumed: true, reason: "cursor" });
    expect(subscriber.rendered.problems).toEqual([]);
  }
  expect(native?.rendered.display()).toEqual(JSON.parse(JSON.stringify(snapshot(state))));
  const expected = new RenderedState("tasks");
  for (const frame of framesFrom(tasks, emptyState, world.events)) expected.handle({ ...frame });
  expect(inTasks?.rendered.display()).toEqual(expected.display());
  const titleFrames = blocks?.rendered.frames.filter(({ type }) => type === "session_title");
  const titles = titleFrames?.map((frame) => frame["title"]);
  expect(titles).toEqual(["before", ...Array.from({ length: steps }, (_, n) => `step ${n}`)]);
  for (const subscriber of subscribers) subscriber.cut();
});

function short(lines: string): string {
  return replaced(lines, "proxy_read_timeout 60s;", "proxy_read_timeout 1s;");
}

test("a request without `stream` can last long, and after a timeout attaches again with the same key", async () => {
  const [slowProxy, fastProxy] = [
    await nginx(short),
    await nginx((lines) => replaced(short(lines), "proxy_read_timeout 1h;", "proxy_read_timeout 1s;")),
  ];
  const { world, endpoint } = await session(slowProxy.url);
  const ask = (url: string): Promise<Response> =>
    fetch(`${url}/api/v1/sessions/${world.ref.session}/messages`, {
      method: "POST",
      headers: { ...endpoint.headers, "content-type": "application/json", "idempotency-key": "k" },
      body: JSON.stringify({ text: "take your time", stream: false }),
    });
  const patient = ask(slowProxy.url);
  const message = await vi.waitUntil(
    async () => (await parts.store.queuedMessages.list(world.ref))[0]?.id,
    30_000,
  );
  await world.append({ type: "message.add", message, text: "take your time" }, ...turnStart(message));
  // The first request has also waited longer than the timeout of other routes.
  expect((await ask(fastProxy.url)).status).toBe(504);
  const again = ask(slowProxy.url);
  await world.append({ type: "text.delta", ...BLOCK, text: "at last" }, ...TURN_END);
  for (const answer of [await patient, await again]) {
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ response_id: "t1", final_text: "at last" });
  }
  expect(await parts.store.queuedMessages.list(world.ref)).toHaveLength(1);
});

test("commands work over a socket", async () => {
  const { world, endpoint } = await session((await nginx()).url);
  const subscriber = new SessionClient({ session: world.ref.session, dialect: "blocks", wire: "socket" });
  subscriber.connect(endpoint);
  const reply = await subscriber.command({ type: "send", client_message_id: "one", text: "hello" });
  subscriber.cut();
  expect(reply.type).toBe("ack");
});

test("the gateway receives the client address and the host name of a request", async () => {
  const echo = await listen("127.0.0.1", ({ headers }, response) => response.end(JSON.stringify(headers)));
  const { host } = new URL(echo.url);
  const { url } = await nginx(undefined, [host, host]);
  const response = await fetch(`${url}/api/v1/sessions`, { headers: { "x-forwarded-for": "203.0.113.7" } });
  expect(await response.json()).toMatchObject({
    host: new URL(url).host,
    "x-forwarded-for": "203.0.113.7, 127.0.0.1",
    "x-forwarded-proto": "http",
  });
  await echo.close();
});
