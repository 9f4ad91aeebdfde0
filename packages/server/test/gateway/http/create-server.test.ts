/** Tests the gateway in the server of an app and as a standalone server: the app's own routes, logs, health, shutdown. */
import { createServer, Server, request as httpRequest } from "node:http";
import { once } from "node:events";
import { fastify } from "fastify";
import { afterEach, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import type { ServerLogger } from "../../../src/gateway/create-server.ts";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { ALL_ROUTES } from "../all-routes.ts";
import { LogError } from "../../../src/log/errors.ts";
import type { SecurityEvent } from "../../../src/util/security-event.ts";
import { createMemoryBackend, openServer, type TestServer } from "../test-server.ts";

const SECRET = "s".repeat(32);
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function opened(...args: Parameters<typeof openServer>): Promise<TestServer> {
  const server = await openServer(...args);
  closing.push(() => server.close());
  return server;
}

async function host(prefix?: string) {
  const parts = createMemoryBackend();
  await parts.store.tenants.create({ id: "t", name: "T" });
  const { secret } = await parts.store.keys.create("t", { name: "k", scopes: [] });
  const gateway = createGateway({ ...parts, secrets: [SECRET] });
  const app = fastify({
    serverFactory(handler) {
      const server = createServer(handler);
      gateway.attach(server, prefix === undefined ? {} : { prefix });
      return server;
    },
  });
  app.post("/own", (request, reply) => reply.send({ got: request.body }));
  app.get("/fails", () => {
    throw new Error("an error of the host");
  });
  closing.push(() => app.close());
  closing.push(() => gateway.close());
  const url = await app.listen();
  return { url, auth: { "x-api-key": secret } };
}

describe("gateway in a Fastify app", () => {
  test("leaves the app's routes, parsers, errors and 404 unchanged", async () => {
    const { url, auth } = await host();
    const own = await fetch(`${url}/own`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"a":1}',
    });
    expect(await own.json()).toEqual({ got: { a: 1 } });
    expect(await (await fetch(`${url}/fails`)).json()).toMatchObject({ message: "an error of the host" });
    expect(await (await fetch(`${url}/none`)).json()).toMatchObject({ error: "Not Found" });
    expect((await fetch(`${url}/api/v1/sessions`, { headers: auth })).status).toBe(200);
    expect(await (await fetch(`${url}/api/v1/none`)).json()).toMatchObject({ error: "NOT_FOUND" });
  });

  test("serves each path in one spelling, so that the rules of a proxy apply", async () => {
    for (const prefix of [undefined, "/agents"]) {
      const { url, auth } = await host(prefix);
      const base = `${url}${prefix ?? ""}`;
      const status = async (path: string) => (await fetch(`${base}${path}`, { headers: auth })).status;
      expect(await status("/api/v1/sessions")).toBe(200);
      for (const path of [
        "/%61pi/v1/sessions",
        "/a%70i/v1/sessions",
        "/api/%761/sessions",
        "/api/v1/%73essions",
        "/api/v1/%63hats",
        "/api/v1/sessions%2f",
        "//api/v1/sessions",
        "/API/v1/sessions",
      ])
        expect(await status(path), path).toBe(404);
    }
  });

  test("serves sockets under one spelling of their path", async () => {
    const { url, auth } = await host();
    const upgrade = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
    const outcomeOf = async (path: string) => {
      const headers = { ...auth, ...upgrade, "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
      const asked = httpRequest(url, { path, headers });
      asked.end();
      return Promise.race([
        once(asked, "upgrade").then(([, socket]) => (socket.destroy(), "upgraded")),
        once(asked, "response").then(([response]) => (response.resume(), response.statusCode)),
      ]);
    };
    expect(await outcomeOf("/api/v1/socket")).toBe("upgraded");
    for (const path of ["/x/../api/v1/socket", "/x/%2e%2e/api/v1/socket", "//evil/api/v1/socket"])
      expect(await outcomeOf(path), path).toBe(404);
  });

  test("can be mounted under a prefix", async () => {
    const { url, auth } = await host("/agents");
    expect((await fetch(`${url}/agents/api/v1/sessions?limit=1`, { headers: auth })).status).toBe(200);
    const socket = new WebSocket(`${url.replace("http", "ws")}/agents/api/v1/socket`, { headers: auth });
    await once(socket, "open");
    socket.terminate();
  });
});

test("refuses a prefix that no path can have", () => {
  const gateway = createGateway({ ...createMemoryBackend(), secrets: [SECRET] });
  for (const prefix of ["chat", "/chat/", "//"])
    expect(() => gateway.attach(createServer(), { prefix })).toThrow(
      "The prefix must be empty or like /chat",
    );
  closing.push(() => gateway.close());
});

test("refuses secrets that could be guessed", () => {
  expect(() => createGateway({ ...createMemoryBackend(), secrets: [SECRET, "short"] })).toThrow(
    /at least 32 bytes/,
  );
});

test.each([
  [{ snapshotTurns: 101 }, "`snapshotTurns` of `limits` of the gateway must be an integer from 1 to 100"],
  [{ snapshotTurns: 0 }, "`snapshotTurns` of `limits` of the gateway must"],
  [{ snapshotTurns: 2.5 }, "`snapshotTurns` of `limits` of the gateway must"],
  [
    { turnIdleTimeoutMs: Infinity },
    "`turnIdleTimeoutMs` of `limits` of the gateway must be an integer from 1 to 2147483647",
  ],
  [{ revocationCheckMs: 2 ** 31 }, "`revocationCheckMs` of `limits` of the gateway must"],
  [{ heartbeatMs: 1 }, "`heartbeatMs` of `limits` of the gateway must be an integer from 20"],
  [{ socketBytesPerSecond: Number.NaN }, "`socketBytesPerSecond` of `limits` of the gateway must"],
  [{ maxBodyBytes: -1 }, "`maxBodyBytes` of `limits` of the gateway must"],
  [
    { snapshotTurns: 20, pingInterval: 1 },
    "`pingInterval` is not an option of `limits` of the gateway (did you mean `pingIntervalMs`?)",
  ],
])("refuses invalid limits: %j", (limits, message) => {
  expect(() => createGateway({ ...createMemoryBackend(), secrets: [SECRET], limits })).toThrow(message);
});

test("logs no secrets and addresses: keys, tokens, tickets and links, on every route (promise 20)", async () => {
  const lines: string[] = [];
  const events: SecurityEvent[] = [];
  const write = (...line: unknown[]) => void lines.push(JSON.stringify(line));
  const logger: ServerLogger = { info: write, warn: write };
  const onSecurityEvent = (event: SecurityEvent) => void events.push(event);
  const options = { logger, onSecurityEvent, allowedOrigins: ["https://app.example.com"] };
  const server = await opened(undefined, options);
  const { token } = (await server.request("POST", "/tokens", { body: { user_id: "u" } })).json;
  const { session_id: id } = (await server.request("POST", "/sessions", { body: {} })).json;
  const share = (await server.request("POST", `/sessions/${id}/shares`, { body: {} })).json.token;
  const { ticket } = (await server.request("POST", "/tickets", { body: {} })).json;
  const auths = [server.auth, { authorization: `Bearer ${token}` }, { "x-api-key": `${server.key.secret}x` }];
  for (const { method, path } of ALL_ROUTES) {
    if (path.endsWith("/events")) continue;
    const filled = path
      .replace("{session}", id)
      .replace("{token}", share)
      .replaceAll(/\{\w+\}/g, "x");
    // Last, because the other requests need the session.
    if (method === "DELETE" && path === "/sessions/{session}") continue;
    for (const headers of auths)
      await server.request(method, `${filled}?ticket=${ticket}&api_key=${server.key.secret}`, { headers });
  }
  const ws = `${server.url.replace("http", "ws")}/api/v1/socket`;
  for (const query of [`?ticket=${ticket}`, `?token=${token}`, `?ticket=${ticket}`]) {
    const socket = new WebSocket(`${ws}${query}`, { origin: "https://app.example.com" });
    socket.on("error", () => undefined);
    await once(socket, "close", { signal: AbortSignal.timeout(300) }).catch(() => socket.terminate());
  }
  await server.request("GET", `/elsewhere?token=${token}`);
  // What is reported as a security event: every kind of credential, changed or in the wrong place.
  const foreign = { origin: "https://evil.example" };
  for (const headers of [
    { "x-api-key": server.key.secret.replace(/.$/, "_") },
    { authorization: `Bearer ${token}x` },
    { authorization: `Bearer ${token}`, "x-api-key": server.key.secret },
    { ...server.auth, ...foreign },
  ])
    await server.request("GET", "/sessions", { headers });
  await server.request("GET", `/shares/${share}x`, { headers: foreign });
  await server.request("GET", `/blobs/${share}`, { headers: foreign });
  expect(new Set(events.map(({ type }) => type))).toEqual(
    new Set(["sign_in_refused", "signature_invalid", "origin_refused"]),
  );
  const reported = lines.filter((line) => line.includes("security event"));
  expect(reported.length).toBeGreaterThan(5);
  for (const text of [...reported, JSON.stringify(events)]) expect(text).not.toContain("127.0.0.1");
  const all = [...lines, JSON.stringify(events), ...server.errors.map(({ error }) => String(error))].join(
    "\n",
  );
  expect(lines.length).toBeGreaterThan(ALL_ROUTES.length);
  expect(all).toContain("/api/v1/shares/*");
  for (const secret of [server.key.secret, token, ticket, share, ...server.secrets])
    expect(all).not.toContain(secret);
});

async function statusOf(url: string): Promise<number> {
  return (await fetch(url)).status;
}

function failToReport(): never {
  throw new Error("the handler failed too");
}

describe("standalone gateway", () => {
  test("reports its liveness and readiness", async () => {
    const server = await opened();
    expect(await statusOf(`${server.url}/healthz`)).toBe(200);
    expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: "ready" });
    const broken = vi.spyOn(server.backend.log, "head").mockRejectedValue(new LogError("UNAVAILABLE"));
    await vi.waitFor(async () => expect(await statusOf(`${server.url}/readyz`)).toBe(503), 30_000);
    expect(await statusOf(`${server.url}/healthz`)).toBe(200);
    broken.mockRestore();
    await vi.waitFor(async () => expect(await statusOf(`${server.url}/readyz`)).toBe(200), 30_000);
  });

  test("responds to malformed requests with the error schema and keeps running", async () => {
    const server = await opened();
    const asked = httpRequest(server.url, { path: "/api/v1/sessions/%zz" });
    asked.end();
    const [response] = await once(asked, "response");
    expect(response.statusCode).toBe(400);
    response.resume();
    expect(await (await fetch(`${server.url}/none`)).json()).toMatchObject({
      error: "NOT_FOUND",
      code: 10009,
    });
    expect(() => new URL(server.server.url)).not.toThrow();
  });

  test("a page that fails gets an error response, and the server keeps running", async () => {
    const cached = new Response("one stream");
    const pages: Record<string, () => Response> = {
      "/cached": () => cached,
      "/error": () => Response.error(),
      "/throws": () => {
        throw new Error("the page failed");
      },
      "/nothing": () => undefined as unknown as Response,
      "/page": () => new Response("a page", { headers: { "set-cookie": "a=1" } }),
    };
    const page = (request: Request) => pages[new URL(request.url).pathname]?.() ?? null;
    const server = await opened(undefined, { page, onError: failToReport });
    const statuses: [string, number][] = [];
    for (const path of ["/cached", "/cached", "/error", "/throws", "/nothing", "/none", "/page"])
      statuses.push([path, await statusOf(`${server.url}${path}`)]);
    expect(statuses).toEqual([
      ["/cached", 200],
      ["/cached", 500],
      ["/error", 500],
      ["/throws", 500],
      ["/nothing", 404],
      ["/none", 404],
      ["/page", 200],
    ]);
    const got = await fetch(`${server.url}/page`);
    expect([await got.text(), got.headers.getSetCookie()]).toEqual(["a page", ["a=1"]]);
  });

  test("a page that fails in the middle of its body is reported, and ends its connection", async () => {
    let isStarted = false;
    const body = new ReadableStream(
      {
        pull(controller) {
          if (isStarted) controller.error(new Error("the second half is missing"));
          else controller.enqueue(Buffer.from("the first half"));
          isStarted = true;
        },
      },
      { highWaterMark: 0 },
    );
    const server = await opened(undefined, { page: () => new Response(body) });
    await expect(fetch(`${server.url}/page`).then((response) => response.text())).rejects.toThrow(
      /terminated|fetch failed/,
    );
    expect(server.errors).toMatchObject([
      { during: "a response", error: { message: "the second half is missing" } },
    ]);
  });

  test("can't be opened again after it was closed", async () => {
    const server = await openServer();
    await Promise.all([server.server.close(), server.server.close()]);
    await expect(server.server.listen()).rejects.toThrow("The server is closed.");
    await server.close();
  });

  test("closes without waiting for connected clients", async () => {
    const server = await openServer();
    const { session_id: id } = (await server.request("POST", "/sessions", { body: {} })).json;
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/v1/socket`, {
      headers: server.auth,
    });
    await once(socket, "open");
    const stream = await fetch(`${server.url}/api/v1/sessions/${id}/events`, { headers: server.auth });
    const text = stream.text();
    const closed = once(socket, "close");
    const byForce = vi.spyOn(Server.prototype, "closeAllConnections");
    await server.close();
    expect(byForce).not.toHaveBeenCalled();
    byForce.mockRestore();
    expect((await closed)[0]).toBe(1012);
    await text;
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow("fetch failed");
  });
});
