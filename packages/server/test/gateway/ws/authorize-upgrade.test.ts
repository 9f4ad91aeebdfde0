/** Tests who can open a socket and for how long: origins, tickets, refusals, and the end of revoked connections. */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { errorReply } from "@turnstream/protocol/schema";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { isAllowedOrigin } from "../../../src/gateway/http/cors.ts";
import { systemEnv } from "../../../src/util/env.ts";
import { openServer, type TestServer } from "../test-server.ts";

const PAGE = "https://app.example.com";

let server: TestServer;
let now = systemEnv.now();
beforeAll(async () => {
  const env = {
    now: () => now,
    id: () => crypto.randomUUID(),
    randomBytes: (size: number) => new Uint8Array(size),
  };
  server = await openServer(undefined, { allowedOrigins: [PAGE], env, limits: { revocationCheckMs: 50 } });
});
afterAll(() => server.close());

interface Upgraded {
  readonly status: number;
  readonly word: string | null;
  readonly type: string | undefined;
  readonly socket: WebSocket;
}

async function upgrade(query = "", headers: Record<string, string> = server.auth): Promise<Upgraded> {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/v1/socket${query}`, { headers });
  socket.on("error", () => undefined);
  return new Promise((resolve) => {
    socket.once("open", () => resolve({ status: 101, word: null, type: undefined, socket }));
    socket.once("unexpected-response", (_request: ClientRequest, response: IncomingMessage) => {
      let text = "";
      response.on("data", (data: Buffer) => (text += data.toString()));
      response.on("end", () => {
        const { error } = errorReply.parse(JSON.parse(text));
        const type = response.headers["content-type"];
        resolve({ status: response.statusCode ?? 0, word: error, type, socket });
      });
    });
  });
}

async function ticket(headers: Record<string, string> = server.auth): Promise<string> {
  const given = (await server.request("POST", "/tickets", { headers, body: {} })).json;
  // The server's own time, with which a page corrects deadlines.
  expect(given.expires_at - given.now).toBe(30_000);
  return given.ticket as string;
}

describe("socket", () => {
  test("opens with a key or a token in headers, in a dialect of sockets", async () => {
    const { token } = (await server.request("POST", "/tokens", { body: { user_id: "u" } })).json;
    for (const headers of [server.auth, { authorization: `Bearer ${token}` }])
      for (const query of ["", "?dialect=blocks", "?dialect=native", "?dialect=tasks"]) {
        const { status, socket } = await upgrade(query, headers);
        expect(status, query).toBe(101);
        socket.terminate();
      }
    for (const query of ["?dialect=responses", "?dialect=", "?token=x", "?x-api-key=x", "?api_key=x"])
      expect(await upgrade(query), query).toMatchObject({ status: 400, word: "BAD_REQUEST" });
  });

  test("is refused with an HTTP response in the error schema", async () => {
    const { status, word, type } = await upgrade("", {});
    expect([status, word, type]).toEqual([401, "UNAUTHENTICATED", "application/json; charset=utf-8"]);
  });

  test("needs a scope", async () => {
    const { secret } = await server.backend.store.keys.create(server.actor.tenant, {
      name: "w",
      scopes: ["write"],
    });
    expect(await upgrade("", { "x-api-key": secret })).toMatchObject({ status: 403, word: "FORBIDDEN" });
  });

  test("of a page of another origin is refused, whatever its credentials (promise 21)", async () => {
    const foreign = [
      "https://evil.example",
      "null",
      `${PAGE}.evil.example`,
      "https://evil-app.example.com",
      "",
      "x",
    ];
    for (const origin of [...foreign, "http://app.example.com", `${PAGE}:444`, `${PAGE}/`, "file://"]) {
      expect(await upgrade("", { ...server.auth, origin }), origin).toMatchObject({ status: 403 });
      expect(await upgrade(`?ticket=${await ticket()}`, { origin }), origin).toMatchObject({ status: 403 });
    }
    // Every page sends its origin, so a ticket without one is refused.
    expect(await upgrade(`?ticket=${await ticket()}`, {})).toMatchObject({ status: 403 });
    for (const origin of [PAGE, server.url]) {
      const { status, socket } = await upgrade(`?ticket=${await ticket()}`, { origin });
      expect(status, origin).toBe(101);
      socket.terminate();
    }
  });

  test("at another path is refused, and no connection hangs", async () => {
    const asked = httpRequest(`${server.url}/other`, {
      headers: { connection: "Upgrade", upgrade: "websocket" },
    });
    asked.end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(404);
    response.resume();
  });
});

describe("ticket (promise 20)", () => {
  const origin = PAGE;

  test("opens one socket for the caller that requested it", async () => {
    const { token } = (await server.request("POST", "/tokens", { body: { user_id: server.actor.user } }))
      .json;
    const text = await ticket({ authorization: `Bearer ${token}` });
    const first = await upgrade(`?ticket=${text}`, { origin });
    expect(first.status).toBe(101);
    const { session_id } = (await server.request("POST", "/sessions", { body: {} })).json;
    first.socket.send(JSON.stringify({ type: "subscribe", session_id }));
    const [data] = (await once(first.socket, "message")) as [Buffer];
    expect(JSON.parse(data.toString())).toMatchObject({ type: "subscribed", session_id });
    first.socket.terminate();
    expect(await upgrade(`?ticket=${text}`, { origin })).toMatchObject({ status: 401 });
  });

  test("opens one socket when ten clients try at once", async () => {
    const text = await ticket();
    const all = await Promise.all(Array.from({ length: 10 }, () => upgrade(`?ticket=${text}`, { origin })));
    expect(all.filter(({ status }) => status === 101)).toHaveLength(1);
    for (const { socket } of all) socket.terminate();
  });

  test("is valid for half a minute, unchanged, without other credentials, and while its key is valid", async () => {
    const text = await ticket();
    expect(await upgrade(`?ticket=${text}`, { ...server.auth, origin })).toMatchObject({ status: 401 });
    expect(await upgrade(`?ticket=${text}x`, { origin })).toMatchObject({ status: 401 });
    expect(await upgrade("?ticket=", { origin })).toMatchObject({ status: 401 });
    now += 30_000;
    expect(await upgrade(`?ticket=${text}`, { origin })).toMatchObject({ status: 401 });
    const { key, secret } = await server.backend.store.keys.create(server.actor.tenant, {
      name: "k",
      scopes: [],
    });
    const late = await ticket({ "x-api-key": secret });
    await server.backend.store.keys.revoke(server.actor.tenant, key.id);
    expect(await upgrade(`?ticket=${late}`, { origin })).toMatchObject({ status: 401 });
  });
});

async function openBoth(headers: Record<string, string>) {
  const asked = { ...headers, "x-user-id": server.actor.user };
  const { session_id } = (await server.request("POST", "/sessions", { headers: asked, body: {} })).json;
  const { socket } = await upgrade("", asked);
  const url = `${server.url}/api/v1/sessions/${session_id}/events`;
  const stream = await fetch(url, { headers: asked });
  expect(stream.status).toBe(200);
  return { socket, ended: stream.text() };
}

describe("revoked caller", () => {
  test("loses socket and stream when the key is revoked, and others don't (promise 19)", async () => {
    const { key, secret } = await server.backend.store.keys.create(server.actor.tenant, {
      name: "k",
      scopes: [],
    });
    const { socket, ended } = await openBoth({ "x-api-key": secret });
    const { socket: other } = await upgrade();
    await server.backend.store.keys.revoke(server.actor.tenant, key.id);
    const [code] = (await once(socket, "close")) as [number];
    expect(code).toBe(4401);
    await ended;
    expect(other.readyState).toBe(WebSocket.OPEN);
    other.terminate();
  });

  test("loses them when the token has expired", async () => {
    const { token } = (
      await server.request("POST", "/tokens", { body: { user_id: server.actor.user, seconds: 60 } })
    ).json;
    const { socket, ended } = await openBoth({ authorization: `Bearer ${token}` });
    now += 50_000;
    const checks = vi.spyOn(server.backend.store.keys, "live");
    await expect.poll(() => checks.mock.calls.length).toBeGreaterThan(2);
    checks.mockRestore();
    expect(socket.readyState).toBe(WebSocket.OPEN);
    now += 10_000;
    const [code] = (await once(socket, "close")) as [number];
    expect(code).toBe(4401);
    await ended;
  });

  test("stays connected while the store is unreachable", async () => {
    const { keys } = server.backend.store;
    const { socket } = await upgrade();
    const broken = vi.spyOn(keys, "live").mockRejectedValue(new Error("no store"));
    const reported = () => server.errors.map(({ during }) => during);
    await expect.poll(reported).toContain("checking for revoked keys");
    await expect.poll(() => broken.mock.calls.length).toBeGreaterThan(3);
    broken.mockRestore();
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.terminate();
  });
});

test("an origin is allowed by its name, or if it is the gateway's own", () => {
  const here = { origins: [PAGE], host: "chat.example.com", publicUrl: undefined };
  expect(isAllowedOrigin("https://chat.example.com", here)).toBe(true);
  expect(isAllowedOrigin("https://chat.example.com:8443", here)).toBe(false);
  expect(isAllowedOrigin("https://chat.example.com", { ...here, host: undefined })).toBe(false);
  for (const odd of [
    "https://chat.example.com/",
    "https://me@chat.example.com",
    "https://chat.example.com?x",
    "ws://chat.example.com",
  ])
    expect(isAllowedOrigin(odd, here), odd).toBe(false);
  // Behind a proxy the public name counts, whatever host the proxy sends.
  const proxied = { ...here, host: "10.0.0.5:3000", publicUrl: "https://chat.example.com/agents" };
  expect(isAllowedOrigin("https://chat.example.com", proxied)).toBe(true);
  expect(isAllowedOrigin("http://10.0.0.5:3000", proxied)).toBe(false);
  expect(isAllowedOrigin("http://chat.example.com", proxied)).toBe(false);
});
