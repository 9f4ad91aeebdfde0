/** Tests that the gateway reports each kind of attempt to get in, once, and without secrets and addresses. */
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { PaymentError, type PaymentProvider, payments } from "@turnstream/payments";
import { signToken } from "../../src/gateway/auth/tokens.ts";
import { hashAddress, type SecurityEvent } from "../../src/util/security-event.ts";
import { systemEnv } from "../../src/util/env.ts";
import { openServer, type TestServer } from "./test-server.ts";

const FOREIGN = "https://evil.example";
let server: TestServer;
let events: SecurityEvent[];
let now: number;
afterEach(() => server.close());

async function open(): Promise<void> {
  events = [];
  now = systemEnv.now();
  let ids = 0;
  const env = {
    now: () => now,
    id: () => `id-${++ids}`,
    randomBytes: (size: number) => new Uint8Array(size).fill(++ids),
  };
  server = await openServer(undefined, { env, onSecurityEvent: (event) => events.push(event) });
}

/** Returns the new events, each with the address of this client. */
function newEvents(): object[] {
  const [secret] = server.secrets;
  const found = events.splice(0);
  for (const event of found) expect(event.addressHash).toBe(hashAddress("127.0.0.1", secret));
  return found.map(({ addressHash: _, ...rest }) => rest);
}

async function upgrade(query: string, headers: Record<string, string>): Promise<number> {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/v1/socket${query}`, { headers });
  const status = await new Promise<number>((resolve) => {
    socket.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
    socket.on("open", () => resolve(101));
    socket.on("error", () => undefined);
  });
  socket.terminate();
  return status;
}

const get = (headers: Record<string, string>) => server.request("GET", "/sessions?limit=1", { headers });

describe("a refused sign-in is reported", () => {
  test("for a key that is unknown, revoked or expired, with its id", async () => {
    await open();
    const { store } = server.backend;
    const { key, secret } = await store.keys.create(server.actor.tenant, { name: "k", scopes: [] });
    const refused = { type: "sign_in_refused", reason: "key_invalid" };
    await get({ "x-api-key": "guess" });
    expect(newEvents()).toEqual([refused]);
    await store.keys.revoke(server.actor.tenant, key.id);
    expect((await get({ "x-api-key": secret })).status).toBe(401);
    expect(newEvents()).toEqual([{ ...refused, key: key.id }]);
    expect(await upgrade("", { "x-api-key": secret })).toBe(401);
    expect(newEvents()).toEqual([{ ...refused, key: key.id }]);
    expect(JSON.stringify(events)).not.toContain(secret);
  });

  test("for a token that has expired, has a wrong signature, or whose key was revoked", async () => {
    await open();
    const { tenant, user } = server.actor;
    const { key, secret } = await server.backend.store.keys.create(tenant, { name: "k", scopes: [] });
    const claims = { tenant, user, key: key.id, scopes: ["read"], expiresAt: now + 60_000 };
    const token = await signToken(claims, server.secrets[0], now);
    await server.backend.store.keys.revoke(tenant, key.id);
    await get({ authorization: `Bearer ${token}` });
    expect(newEvents()).toEqual([
      { type: "sign_in_refused", reason: "key_ended", tenant, user, key: key.id },
    ]);
    now += 120_000;
    await get({ authorization: `Bearer ${token}` });
    expect(newEvents()).toEqual([
      { type: "sign_in_refused", reason: "token_expired", tenant, user, key: key.id },
    ]);
    const forged = await signToken({ ...claims, expiresAt: now + 60_000 }, "f".repeat(32), now);
    await get({ authorization: `Bearer ${forged}` });
    await get({ authorization: `Bearer ${token}`, "x-api-key": secret });
    expect(newEvents()).toEqual([
      { type: "signature_invalid", reason: "token" },
      { type: "sign_in_refused", reason: "several_credentials" },
    ]);
    // A request without a credential is no attempt.
    await get({});
    expect(newEvents()).toEqual([]);
  });

  test("for a ticket that was used, has expired, was changed, or comes without a page", async () => {
    await open();
    const { tenant, user } = server.actor;
    const newTicket = async () =>
      (await server.request("POST", "/tickets", { body: {} })).json.ticket as string;
    const ticket = await newTicket();
    const origin = server.url;
    expect(await upgrade(`?ticket=${ticket}`, { origin })).toBe(101);
    expect(await upgrade(`?ticket=${ticket}`, { origin })).toBe(401);
    expect(await upgrade(`?ticket=${ticket}x`, { origin })).toBe(401);
    expect(await upgrade(`?ticket=${await newTicket()}`, {})).toBe(403);
    const late = await newTicket();
    now += 31_000;
    expect(await upgrade(`?ticket=${late}`, { origin })).toBe(401);
    const source = { tenant, user, key: server.key.id };
    expect(newEvents()).toEqual([
      { type: "sign_in_refused", reason: "ticket_used", ...source },
      { type: "signature_invalid", reason: "ticket" },
      { type: "sign_in_refused", reason: "ticket_without_page" },
      { type: "sign_in_refused", reason: "ticket_expired", ...source },
    ]);
  });
});

test("a foreign origin is reported once per request", async () => {
  await open();
  await get({ ...server.auth, origin: FOREIGN });
  expect(newEvents()).toEqual([{ type: "origin_refused", reason: "request", subject: FOREIGN }]);
  const { ticket } = (await server.request("POST", "/tickets", { body: {} })).json;
  const { session_id } = (await server.request("POST", "/sessions", { body: {} })).json;
  const stream = `/sessions/${session_id}/events?ticket=${ticket}`;
  expect((await server.request("GET", stream, { headers: { origin: FOREIGN } })).status).toBe(403);
  expect(await upgrade("", { ...server.auth, origin: FOREIGN })).toBe(403);
  expect(newEvents()).toEqual([
    { type: "origin_refused", reason: "request", subject: FOREIGN },
    { type: "origin_refused", reason: "socket", subject: FOREIGN },
  ]);
});

test("a share link and a file link with a wrong signature are reported", async () => {
  await open();
  expect((await server.request("GET", "/shares/guess.guess", { headers: {} })).status).toBe(404);
  expect((await server.request("POST", "/shares/guess.guess/fork", { body: {} })).status).toBe(404);
  expect((await server.request("GET", "/blobs/guess.guess", { headers: {} })).status).toBe(400);
  expect(newEvents()).toEqual([
    { type: "signature_invalid", reason: "share_link" },
    { type: "signature_invalid", reason: "share_link" },
    { type: "signature_invalid", reason: "file_link" },
  ]);
});

const unused = () => Promise.reject(new Error("not part of this test"));

test("a notification that the payment provider has not signed is reported, with its name", async () => {
  const provider: PaymentProvider = {
    name: "bank",
    formOrigin: null,
    checkMoney: () => null,
    checkout: unused,
    query: unused,
    readNotification({ body }) {
      const code = body.length > 3 ? "NOT_AUTHENTIC" : "MALFORMED";
      throw new PaymentError(code, "refused");
    },
  };
  const bank = payments({ providers: [provider], publicUrl: "http://127.0.0.1:9" });
  events = [];
  server = await openServer(undefined, { features: [bank], onSecurityEvent: (event) => events.push(event) });
  for (const body of ["forged", ""])
    expect((await server.request("POST", "/payments/notify/bank", { body, headers: {} })).status).toBe(400);
  expect(newEvents()).toEqual([
    { type: "signature_invalid", reason: "payment_notification", subject: "bank" },
  ]);
});

test("a hook that throws disturbs no request", async () => {
  server = await openServer(undefined, {
    onSecurityEvent: () => {
      throw new Error("broken");
    },
  });
  const response = await server.request("GET", "/sessions", { headers: { "x-api-key": "guess" } });
  expect(response.status).toBe(401);
  expect(
    (await server.request("GET", "/sessions?limit=1", { headers: { ...server.auth, origin: FOREIGN } }))
      .status,
  ).toBe(200);
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/v1/socket`, { headers: server.auth });
  await once(socket, "open");
  socket.terminate();
  expect(server.errors.filter(({ during }) => during === "`onSecurityEvent`")).toHaveLength(2);
});
