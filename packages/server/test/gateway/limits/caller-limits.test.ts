/** Limits of callers on a gateway in memory: what is refused, how the refusal reads, and who may change limits. */
import { isOnNode } from "../mount.ts";
import { afterEach, describe, expect, test } from "vitest";
import { errorReply } from "@turnstream/protocol/schema";
import { WebSocket } from "ws";
import { signToken } from "../../../src/gateway/auth/tokens.ts";
import type { ServerOptions } from "../../../src/gateway/create-server.ts";
import { LIMITS } from "../../../src/store/rules/limits.ts";
import { systemEnv } from "../../../src/util/env.ts";
import type { SecurityEvent } from "../../../src/util/security-event.ts";
import { SocketClient, StreamClient } from "../clients.ts";
import { openServer, type TestResponse, type TestServer } from "../test-server.ts";
import { startTurn } from "../../store/start-turn.ts";

let server: TestServer;
let events: SecurityEvent[];
const sockets: SocketClient[] = [];

async function open(options: Partial<ServerOptions> = {}): Promise<TestServer> {
  events = [];
  server = await openServer(undefined, { onSecurityEvent: (event) => events.push(event), ...options });
  return server;
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.close();
  await server.close();
});

async function connect(): Promise<SocketClient> {
  const client = await SocketClient.open(server);
  sockets.push(client);
  return client;
}

async function newSession(): Promise<string> {
  const { json } = await server.request("POST", "/sessions", { body: {} });
  return json.session_id as string;
}

const send = (session: string, client_message_id: string) =>
  fetch(`${server.url}/api/v1/sessions/${session}/messages`, {
    method: "POST",
    headers: { ...server.auth, "content-type": "application/json" },
    body: JSON.stringify({ text: "hi", stream: true, client_message_id }),
  });

async function token(user: string): Promise<Record<string, string>> {
  const now = systemEnv.now();
  const claims = {
    tenant: server.actor.tenant,
    user,
    key: null,
    scopes: ["read", "write"],
    expiresAt: now + 60_000,
  };
  return { authorization: `Bearer ${await signToken(claims, server.secrets[0], now)}` };
}

const requestAs = (user: string) =>
  server.request("GET", "/limits", { headers: { ...server.auth, "x-user-id": user } });

const signInFrom = async (from: string) =>
  (await server.request("POST", "/sign-in", { headers: { "x-forwarded-for": from } })).status;

/** Opens a socket and closes it. @returns the status of the response */
const tryUpgrade = () =>
  new Promise<{ status: number; retryAfter: string | undefined }>((resolve) => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/v1/socket`, {
      headers: { ...server.auth },
    });
    socket.on("unexpected-response", (_request, response) => {
      resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] });
      response.destroy();
    });
    socket.on("open", () => {
      socket.terminate();
      resolve({ status: 101, retryAfter: undefined });
    });
    socket.on("error", () => undefined);
  });

const subscribe = (client: SocketClient, session_id: string) =>
  client.request({ type: "subscribe", session_id });

const readStatus = async (response: Promise<Response>) => {
  const { status: code, body } = await response;
  await body?.cancel();
  return code;
};

const upload = async (session: string, size: number) => {
  const response = await fetch(`${server.url}/api/v1/sessions/${session}/files?name=f`, {
    method: "POST",
    headers: { ...server.auth, "content-type": "text/plain" },
    body: "x".repeat(size),
  });
  // oxlint-disable-next-line typescript/no-explicit-any -- an arbitrary response
  return { status: response.status, headers: response.headers, json: (await response.json()) as any };
};

const putLimits = (path: string, limits: object, headers?: Record<string, string>) =>
  server.request("PUT", path, { body: { limits }, ...(headers === undefined ? {} : { headers }) });

function expectLimited({ status, headers, json }: TestResponse, limit: string, scope: string): void {
  expect(status).toBe(429);
  errorReply.parse(json);
  expect(json).toMatchObject({ error: "RATE_LIMITED", can_retry: true, details: { limit, scope } });
  expect(json.retry_after_seconds).toBe(Math.ceil(json.details.retry_after_ms / 1_000));
  expect(headers.get("retry-after")).toBe(String(json.retry_after_seconds));
}

describe("requests", () => {
  test("of a user beyond the limit get 429 with the reason and the time to wait; others are served", async () => {
    await open({ callerLimits: { user: { requestsPerMinute: 3 } } });
    for (let n = 0; n < 3; n++) expect((await server.request("GET", "/limits")).status).toBe(200);
    expectLimited(await server.request("GET", "/limits"), "requests_per_minute", "user");
    const headers = { ...server.auth, "x-user-id": "another" };
    expect((await server.request("GET", "/limits", { headers })).status).toBe(200);
  });

  test.for(["key", "tenant"] as const)("of a %s count for all its users together", async (scope) => {
    await open({ callerLimits: { [scope]: { requestsPerMinute: 2 } } });
    expect([(await requestAs("a")).status, (await requestAs("b")).status]).toEqual([200, 200]);
    expectLimited(await requestAs("c"), "requests_per_minute", scope);
  });

  test("that stop a turn are possible at the limit, and have a limit of their own", async () => {
    await open({ callerLimits: { user: { requestsPerMinute: 2 } } });
    const session = await newSession();
    await server.request("GET", "/limits");
    expectLimited(await server.request("GET", "/limits"), "requests_per_minute", "user");
    const stop = () => server.request("POST", `/sessions/${session}/stop`);
    expect([(await stop()).status, (await stop()).status, (await stop()).status]).toEqual([200, 200, 429]);
  });

  test("a flood is one security event per minute, with the limit and its source", async () => {
    await open({ callerLimits: { user: { requestsPerMinute: 1 } } });
    for (let n = 0; n < 20; n++) await server.request("GET", "/limits");
    expect(events).toEqual([
      expect.objectContaining({
        type: "rate_limited",
        reason: "requests_per_minute",
        subject: "user",
        tenant: server.actor.tenant,
        user: server.actor.user,
        key: server.key.id,
      }),
    ]);
  });
});

describe("sign-ins", () => {
  const wrongKey = { "x-api-key": `ts_${"0".repeat(24)}_${"x".repeat(43)}` };

  test("with wrong keys are refused with 429 by address, and a valid token still works", async () => {
    await open({ callerLimits: { address: { failedSignInsPerMinute: 5 } } });
    for (let n = 0; n < 5; n++)
      expect((await server.request("GET", "/limits", { headers: wrongKey })).status).toBe(401);
    const refused = await server.request("GET", "/limits", { headers: wrongKey });
    expectLimited(refused, "failed_sign_ins_per_minute", "address");
    // From now on, the key is not looked up.
    expectLimited(await server.request("GET", "/limits"), "failed_sign_ins_per_minute", "address");
    expect((await server.request("GET", "/limits", { headers: await token("ann") })).status).toBe(200);
    const floods = events.filter(({ type }) => type === "rate_limited");
    expect(floods).toEqual([
      expect.objectContaining({
        reason: "failed_sign_ins_per_minute",
        addressHash: expect.any(String) as string,
      }),
    ]);
  });

  test("with expired tokens don't count as guesses", async () => {
    await open({ callerLimits: { address: { failedSignInsPerMinute: 1 } } });
    const past = systemEnv.now() - 60_000;
    const claims = { tenant: "t", user: "u", key: null, scopes: ["read"], expiresAt: past };
    const headers = { authorization: `Bearer ${await signToken(claims, server.secrets[0], past)}` };
    for (let n = 0; n < 4; n++)
      expect((await server.request("GET", "/limits", { headers })).status).toBe(401);
  });

  test("requests without a sign-in count by address", async () => {
    await open({ callerLimits: { address: { requestsPerMinute: 2 } } });
    const ask = () => server.request("POST", "/sign-in", { headers: {} });
    expect([(await ask()).status, (await ask()).status]).toEqual([404, 404]);
    expectLimited(await ask(), "requests_per_minute", "address");
    expect((await server.request("GET", "/limits", { headers: await token("ann") })).status).toBe(200);
  });

  test.runIf(isOnNode)("behind a trusted proxy, the forwarded address counts", async () => {
    await open({ trustProxy: true, callerLimits: { address: { requestsPerMinute: 1 } } });
    expect([
      await signInFrom("192.0.2.1"),
      await signInFrom("192.0.2.1"),
      await signInFrom("192.0.2.2"),
    ]).toEqual([404, 429, 404]);
  });
});

describe("connections", () => {
  test("sockets beyond the limit are refused before the upgrade, and a closed one can be replaced", async () => {
    await open({ callerLimits: { user: { sockets: 2 } } });
    const first = await connect();
    await connect();
    expect(await tryUpgrade()).toEqual({ status: 429, retryAfter: "5" });
    first.close();
    await expect.poll(async () => (await tryUpgrade()).status).toBe(101);
  });

  test("streams beyond the limit are refused, and a closed one can be replaced", async () => {
    await open({ callerLimits: { user: { streams: 1 } } });
    const session = await newSession();
    const url = `${server.url}/api/v1/sessions/${session}/events`;
    const first = await StreamClient.open(url, { headers: server.auth });
    expect(first.response.status).toBe(200);
    expectLimited(await server.request("GET", `/sessions/${session}/events`), "streams", "user");
    // A HEAD request opens no stream.
    first.disconnect();
    await expect
      .poll(async () => (await fetch(url, { method: "HEAD", headers: server.auth })).status)
      .toBe(200);
    const second = await StreamClient.open(url, { headers: server.auth });
    expect(second.response.status).toBe(200);
    second.disconnect();
  });

  test("of one gateway are limited in sum", async () => {
    await open({ callerLimits: { gateway: { connections: 2 } } });
    const session = await newSession();
    await connect();
    const stream = await StreamClient.open(`${server.url}/api/v1/sessions/${session}/events`, {
      headers: server.auth,
    });
    expectLimited(await server.request("GET", `/sessions/${session}/events`), "connections", "gateway");
    stream.disconnect();
  });

  test("subscriptions beyond the limit are refused on the socket; unsubscribed and closed ones no longer count", async () => {
    await open({ callerLimits: { user: { subscriptions: 2 } } });
    const [first, second] = [await connect(), await connect()];
    const [a, b, c] = [await newSession(), await newSession(), await newSession()];
    for (const session of [a, b, b])
      expect(await subscribe(first, session)).toMatchObject({ type: "subscribed" });
    expect(await subscribe(second, c)).toMatchObject({
      type: "error",
      error: "RATE_LIMITED",
      retry_after_seconds: 5,
      details: { limit: "subscriptions", scope: "user", retry_after_ms: 5_000 },
    });
    await first.request({ type: "unsubscribe", session_id: a });
    expect(await subscribe(second, c)).toMatchObject({ type: "subscribed" });
    first.close();
    await expect.poll(async () => (await subscribe(second, a))["type"]).toBe("subscribed");
    await second.request({ type: "unsubscribe", session_id: a });
    // A session that doesn't exist is not counted.
    for (let n = 0; n < 5; n++)
      expect(await subscribe(second, "missing")).toMatchObject({ error: "NOT_FOUND" });
    expect(await subscribe(second, b)).toMatchObject({ type: "subscribed" });
  });

  test("commands beyond the limit are refused on the socket, and a flood closes it", async () => {
    await open({ callerLimits: { user: { requestsPerMinute: 10 } } });
    const session_id = await newSession();
    const client = await connect();
    for (let n = 0; n < 8; n++)
      expect(await client.request({ type: "subscribe", session_id })).toMatchObject({ type: "subscribed" });
    expect(await client.request({ type: "subscribe", session_id })).toMatchObject({
      error: "RATE_LIMITED",
      can_retry: true,
      details: { limit: "requests_per_minute", scope: "user" },
    });
    expect(await client.request({ type: "stop", session_id })).toMatchObject({ type: "ack" });
    const before = client.frames.length;
    for (let n = 0; n < 1_000; n++) client.socket.send(JSON.stringify({ type: "subscribe", session_id }));
    expect(await client.closed()).toMatchObject({ code: 4429 });
    expect(client.frames.length - before).toBeLessThan(1_000);
  });
});

describe("what a user adds", () => {
  test("queued messages and turns are limited, and a withdrawn message no longer counts", async () => {
    await open({ callerLimits: { user: { queuedMessages: 3, runningTurns: 2 } } });
    const [a, b, c] = [await newSession(), await newSession(), await newSession()];
    expect(await readStatus(send(a, "1"))).toBe(200);
    expect(await readStatus(send(b, "2"))).toBe(200);
    const refused = await send(c, "3");
    expect(await refused.json()).toMatchObject({
      error: "RATE_LIMITED",
      details: { limit: "running_turns", scope: "user" },
    });
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(await readStatus(send(b, "4"))).toBe(200);
    expect(await (await send(b, "5")).json()).toMatchObject({ details: { limit: "queued_messages" } });
    // A repeat of an accepted message is answered as before.
    expect(await readStatus(send(b, "4"))).toBe(200);
    await server.request("DELETE", `/sessions/${b}/messages/c.4`);
    expect(await readStatus(send(b, "5"))).toBe(200);
    // What was refused left nothing behind.
    const ref = { tenant: server.actor.tenant, session: c };
    expect(await server.backend.store.queuedMessages.list(ref)).toEqual([]);
  });

  test("files beyond the limit get 413 with retry-after, and leave no bytes behind", async () => {
    await open({ callerLimits: { user: { storedBytes: 1_000 } } });
    const [a, b] = [await newSession(), await newSession()];
    expect((await upload(a, 600)).status).toBe(201);
    const { status, headers, json } = await upload(b, 401);
    expect(status).toBe(413);
    expect(json).toMatchObject({
      error: "TOO_LARGE",
      can_retry: false,
      details: { limit: "stored_bytes", scope: "user" },
    });
    expect(headers.get("retry-after")).toBe("3600");
    expect((await upload(b, 400)).status).toBe(201);
  });

  test("tokens and cost of the day stop further turns until midnight", async () => {
    await open({ callerLimits: { user: { tokensPerDay: 100 }, tenant: { costPerMonth: 2.5 } } });
    const { tenant, user } = server.actor;
    const session = await newSession();
    const used = { turns: 1, calls: 1, input_tokens: 50, output_tokens: 49, total_tokens: 99 };
    await server.backend.store.usage.add(tenant, { key: "1", user, ...used, cost: 1 });
    const first = await send(session, "1");
    expect(first.status).toBe(200);
    await first.body?.cancel();
    await server.backend.store.usage.add(tenant, { key: "2", user: "other", ...used, cost: 1.5 });
    expect(await (await send(session, "2")).json()).toMatchObject({
      details: { limit: "cost_per_month", scope: "tenant" },
    });
    await server.backend.store.usage.add(tenant, { key: "3", user, ...used, total_tokens: 1 });
    const refused = await (await send(session, "3")).json();
    expect(refused).toMatchObject({ details: { limit: "tokens_per_day", scope: "user" } });
    expect((refused as { retry_after_seconds: number }).retry_after_seconds).toBeLessThanOrEqual(86_400);
  });
});

test("the tokens of an API key stop the turns of all users behind it, and are read by key", async () => {
  await open({ callerLimits: { key: { tokensPerDay: 100 } } });
  const { tenant } = server.actor;
  const claims = { tenant, user: "ann", key: server.key.id, scopes: ["read", "write"] };
  const now = systemEnv.now();
  const jwt = await signToken({ ...claims, expiresAt: now + 60_000 }, server.secrets[0], now);
  const headers = { authorization: `Bearer ${jwt}` };
  const sendAs = async (session: string, as: Record<string, string>) =>
    fetch(`${server.url}/api/v1/sessions/${session}/messages`, {
      method: "POST",
      headers: { ...as, "content-type": "application/json" },
      body: JSON.stringify({ text: "hi", stream: true }),
    });
  const { json } = await server.request("POST", "/sessions", { body: {}, headers });
  expect(await readStatus(sendAs(json.session_id as string, headers))).toBe(200);
  // The turn has the key that issued the token, and the limits that its model calls compare.
  const { store } = server.backend;
  const ref = { tenant, session: json.session_id as string };
  expect((await startTurn(store, ref))?.row).toMatchObject({
    apiKey: server.key.id,
    usageLimits: { key: { tokensPerDay: 100 }, user: { tokensPerDay: LIMITS.tokensPerDay.defaults.user } },
  });
  const used = { turns: 1, calls: 1, input_tokens: 60, output_tokens: 40, total_tokens: 100 };
  const day = new Date(now).toISOString().slice(0, 10);
  await store.usage.add(tenant, { key: "1", user: "ann", apiKey: server.key.id, day, ...used });
  const refused = await sendAs(await newSession(), server.auth);
  expect(await refused.json()).toMatchObject({ details: { limit: "tokens_per_day", scope: "key" } });
  const usage = (key: string) => server.request("GET", `/usage/tenant?key=${key}&from=${day}&to=${day}`);
  expect((await usage(server.key.id)).json).toMatchObject({ days: [{ total_tokens: 100 }] });
  expect((await usage("other")).json).toEqual({ days: [] });
});

describe("limits over HTTP", () => {
  test("a key with the scope admin sets limits of a user, which apply at once", async () => {
    await open();
    const ann = await token("ann");
    expect((await putLimits("/limits/users/ann", { requests_per_minute: 2 })).json).toMatchObject({
      limits: { requests_per_minute: 2 },
      set: { requests_per_minute: 2 },
    });
    const read = () => server.request("GET", "/limits", { headers: ann });
    expect((await read()).json).toMatchObject({ limits: { requests_per_minute: 2 } });
    await read();
    expectLimited(await read(), "requests_per_minute", "user");
    expect((await putLimits("/limits/users/ann", {})).json).toMatchObject({
      limits: { requests_per_minute: 3_000 },
      set: {},
    });
    expect((await putLimits("/limits/users", { sockets: 7 })).json).toMatchObject({ set: { sockets: 7 } });
    expect((await server.request("GET", "/limits/users/bob")).json).toMatchObject({
      limits: { sockets: 7 },
      set: {},
    });
  });

  test("a tenant's key lowers the tenant's limits and can't raise them", async () => {
    await open({ callerLimits: { tenant: { sockets: 10 } } });
    expect((await putLimits("/limits/tenant", { sockets: 5 })).json).toMatchObject({
      limits: { sockets: 5 },
    });
    expect((await putLimits("/limits/tenant", { sockets: 500 })).json).toMatchObject({
      limits: { sockets: 10 },
    });
    expect((await putLimits("/limits/tenant", { sockets: null })).json).toMatchObject({
      limits: { sockets: 10 },
    });
  });

  test("a token of a user reads its own limits and changes none", async () => {
    await open();
    const headers = await token("ann");
    expect((await server.request("GET", "/limits", { headers })).status).toBe(200);
    for (const path of ["/limits/tenant", "/limits/users", "/limits/users/ann"]) {
      expect((await server.request("GET", path, { headers })).status).toBe(403);
      expect((await putLimits(path, {}, headers)).status).toBe(403);
    }
    expect((await putLimits("/limits/users/ann", { nothing: 1 })).status).toBe(400);
    expect((await putLimits("/limits/users/ann", { sockets: -1 })).status).toBe(400);
  });

  test("a change of limits is in the audit, with the number of the user and without the id", async () => {
    await open();
    await putLimits("/limits/users/ann", { sockets: 3 });
    const { store } = server.backend;
    const rows = await store.audit.list(server.actor.tenant, { after: 0, limit: 10 });
    const number = await store.userNumbers.numberOf(server.actor.tenant, "ann");
    expect(rows.find(({ action }) => action === "limits.set")).toMatchObject({
      subject: JSON.stringify({ scope: "user", user: String(number) }),
      detail: JSON.stringify({ sockets: 3 }),
    });
  });
});

test("a user reads the own usage by day; other users and the tenant need the scope admin", async () => {
  await open();
  const { tenant } = server.actor;
  const used = { turns: 1, calls: 2, input_tokens: 3, output_tokens: 4, total_tokens: 7, cost: 0.25 };
  const day = "2026-11-10";
  for (const user of ["ann", "bob"])
    await server.backend.store.usage.add(tenant, { key: user, user, day, model: "m", ...used });
  const ann = await token("ann");
  const range = "from=2026-11-01&to=2026-11-30";
  const expected = { days: [{ day, model: "m", ...used }] };
  expect((await server.request("GET", `/usage?${range}`, { headers: ann })).json).toEqual(expected);
  expect((await server.request("GET", `/usage?user=ann&${range}`, { headers: ann })).json).toEqual(expected);
  expect((await server.request("GET", `/usage?user=bob&${range}`, { headers: ann })).status).toBe(403);
  expect((await server.request("GET", `/usage/tenant?${range}`, { headers: ann })).status).toBe(403);
  expect((await server.request("GET", `/usage?user=bob&${range}`)).json).toEqual(expected);
  expect((await server.request("GET", `/usage/tenant?${range}`)).json).toMatchObject({
    days: [{ turns: 2, cost: 0.5 }],
  });
  expect((await server.request("GET", "/usage?from=2026-11-30&to=2026-11-01")).status).toBe(400);
  expect((await server.request("GET", "/usage?from=2020-01-01&to=2026-11-01")).status).toBe(400);
  expect((await server.request("GET", "/usage", { headers: ann })).status).toBe(200);
});
