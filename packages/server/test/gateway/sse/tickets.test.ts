/** Tests event streams of pages that authenticate with a ticket, as a plain `EventSource` does. */
import { isStandalone } from "../mount.ts";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { errorReply } from "@turnstream/protocol/schema";
import type { ServerLogger } from "../../../src/gateway/create-server.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { systemEnv } from "../../../src/util/env.ts";
import { StreamClient } from "../clients.ts";
import { openServer, type TestServer } from "../test-server.ts";

const PAGE = "https://app.example.com";
const lines: string[] = [];
const write = (...values: unknown[]) => void lines.push(JSON.stringify(values));
const logger: ServerLogger = { info: write, warn: write };

let server: TestServer;
let session: string;
let now = systemEnv.now();

beforeAll(async () => {
  const env = {
    now: () => now,
    id: () => crypto.randomUUID(),
    randomBytes: (size: number) => new Uint8Array(size),
  };
  server = await openServer(undefined, {
    allowedOrigins: [PAGE],
    env,
    logger,
    limits: { revocationCheckMs: 50 },
  });
  session = (await server.request("POST", "/sessions", { body: { title: "Mine" } })).json.session_id;
});
afterAll(() => server.close());

async function ticket(headers: Readonly<Record<string, string>> = server.auth): Promise<string> {
  return (await server.request("POST", "/tickets", { headers, body: {} })).json.ticket;
}

const address = (text: string, id = session) =>
  `${server.url}/api/v1/sessions/${id}/events?dialect=native&ticket=${encodeURIComponent(text)}`;

/** Opens a stream that must be refused. */
async function refusal(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  const { error, message } = errorReply.parse(await response.json());
  return { status: response.status, error, message };
}

/** Opens a socket that must be refused. */
async function openUpgrade(url: string, headers: Record<string, string>): Promise<{ status: number }> {
  const socket = new WebSocket(url.replace("http", "ws"), { headers });
  socket.on("error", () => undefined);
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  socket.terminate();
  return { status: response.statusCode ?? 0 };
}

describe("an event stream with a ticket (promise 20)", () => {
  test("streams the session, once, without headers and for allowed origins", async () => {
    for (const headers of [{}, { origin: PAGE }, { origin: server.url }]) {
      const url = address(await ticket());
      const stream = await StreamClient.open(url, { headers });
      expect(await stream.frame("subscribed")).toMatchObject({ session_id: session });
      const origin = "origin" in headers && headers.origin === PAGE ? PAGE : null;
      expect(stream.response.headers.get("access-control-allow-origin")).toBe(origin);
      // An `EventSource` repeats its URL when the connection breaks.
      const again = await refusal(url, headers);
      expect(again).toMatchObject({ status: 401, error: "UNAUTHENTICATED" });
      expect(again.message).toContain("was already used");
      expect(again.message).toContain("POST /api/v1/tickets");
      stream.disconnect();
    }
  });

  test("continues after the cursor that a page passes with its new ticket", async () => {
    const first = await StreamClient.open(address(await ticket()), {});
    await first.frame("subscribed");
    await server.request("PATCH", `/sessions/${session}`, { body: { title: "Renamed" } });
    await first.frame("session.update");
    const cursor = first.messages.findLast(({ id }) => id !== "")?.id ?? "";
    first.disconnect();
    await server.request("PATCH", `/sessions/${session}`, { body: { title: "Again" } });
    const second = await StreamClient.open(`${address(await ticket())}&last_event_id=${cursor}`, {});
    expect(await second.frame("subscribed")).toMatchObject({ resumed: true, reason: "cursor" });
    expect(await second.frame("session.update")).toMatchObject({ title: "Again" });
    second.disconnect();
  });

  test("is opened by one of ten clients that try at once", async () => {
    const url = address(await ticket());
    const all = await Promise.all(Array.from({ length: 10 }, () => StreamClient.open(url, {})));
    expect(all.filter(({ response }) => response.status === 200)).toHaveLength(1);
    for (const client of all) client.disconnect();
  });

  test("is refused after half a minute, if the ticket is changed, and beside other credentials", async () => {
    const text = await ticket();
    expect(await refusal(address(text), server.auth)).toMatchObject({
      status: 401,
      message: expect.stringContaining("not both") as string,
    });
    for (const bad of ["", "x", `${text}x`, text.slice(1)])
      expect(await refusal(address(bad)), bad).toMatchObject({ status: 401, error: "UNAUTHENTICATED" });
    now += 30_000;
    const late = await refusal(address(text));
    expect([late.status, late.message]).toEqual([401, expect.stringContaining("has expired")]);
    expect(late.message).toContain("POST /api/v1/tickets");
  });

  test("is refused if the token of the ticket has expired since", async () => {
    const body = { user_id: server.actor.user, seconds: 5 };
    const { token, expires_at } = (await server.request("POST", "/tokens", { body })).json;
    const headers = { authorization: `Bearer ${token}` };
    const issued = (await server.request("POST", "/tickets", { headers, body: {} })).json;
    expect(issued.expires_at).toBe(expires_at);
    const stream = await StreamClient.open(address(await ticket(headers)), {});
    await stream.frame("subscribed");
    stream.disconnect();
    now += 5_000;
    expect(await refusal(address(issued.ticket))).toMatchObject({ status: 401 });
    const socket = `${server.url}/api/v1/socket?ticket=${encodeURIComponent(issued.ticket)}`;
    const { status } = await openUpgrade(socket, { origin: PAGE });
    expect(status).toBe(401);
  });

  test("is refused for pages of other origins, and the ticket stays valid", async () => {
    const text = await ticket();
    for (const origin of ["https://evil.example", "null", `${PAGE}.evil.example`, "file://"])
      expect(await refusal(address(text), { origin }), origin).toMatchObject({ status: 403 });
    const stream = await StreamClient.open(address(text), { headers: { origin: PAGE } });
    await stream.frame("subscribed");
    stream.disconnect();
  });

  test("shows no session of another user or tenant", async () => {
    const user = { ...server.auth, "x-user-id": "else" };
    expect(await refusal(address(await ticket(user)))).toMatchObject({ status: 404, error: "NOT_FOUND" });
    const { store } = server.backend;
    await store.tenants.create({ id: "other", name: "Other" });
    const { secret } = await store.keys.create("other", { name: "k", scopes: [] });
    const tenant = { "x-api-key": secret, "x-user-id": server.actor.user };
    expect(await refusal(address(await ticket(tenant)))).toMatchObject({ status: 404, error: "NOT_FOUND" });
  });

  test("ends when the key is revoked that issued its ticket", async () => {
    const { store } = server.backend;
    const { key, secret } = await store.keys.create(server.actor.tenant, { name: "k", scopes: ["read"] });
    const headers = { "x-api-key": secret, "x-user-id": server.actor.user };
    const [used, unused] = [await ticket(headers), await ticket(headers)];
    const stream = await StreamClient.open(address(used), {});
    await stream.frame("subscribed");
    await store.keys.revoke(server.actor.tenant, key.id);
    await stream.ended();
    expect(await refusal(address(unused))).toMatchObject({ status: 401 });
  });

  test("accepts no token or key in the URL, and a ticket on no other route", async () => {
    const { token } = (await server.request("POST", "/tokens", { body: { user_id: server.actor.user } }))
      .json;
    const base = `${server.url}/api/v1/sessions/${session}`;
    for (const query of [`token=${token}`, `authorization=${token}`, `x-api-key=${server.key.secret}`])
      expect(await refusal(`${base}/events?${query}`)).toMatchObject({ status: 401 });
    expect(await refusal(`${base}/events?ticket=${token}`)).toMatchObject({ status: 401 });
    expect(await refusal(`${base}?ticket=${await ticket()}`)).toMatchObject({ status: 401 });
    expect(await refusal(`${base}/history?ticket=${await ticket()}`)).toMatchObject({ status: 401 });
  });

  test.runIf(isStandalone)("leaves no ticket in the log of the server", async () => {
    const text = await ticket();
    const stream = await StreamClient.open(address(text), {});
    await stream.frame("subscribed");
    stream.disconnect();
    await refusal(address(text));
    await expect
      .poll(() => lines.filter((line) => line.includes(`/sessions/${session}/events`)).length)
      .toBeGreaterThan(5);
    expect(lines.join()).not.toContain(text);
    expect(lines.join()).not.toContain("ticket=");
    const errors = server.errors.map(({ error }) => String(error));
    expect(errors.join()).not.toContain(text);
    // Another test has used an origin that is not allowed.
    expect(errors.filter((error) => !error.includes("allowedOrigins"))).toEqual([]);
  });
});
