/** Tests the fetch handler with the requests of different hosts: without a signal, with a path as URL, with a read body. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { createTestSession, requestInteraction, testCaller } from "../pending-interactions.ts";
import { createMemoryBackend } from "../test-server.ts";

let backend: HarnessBackend;
let gateway: Gateway;
let ref: SessionRef;
let auth: Record<string, string>;
const errors: unknown[] = [];

beforeAll(async () => {
  backend = createMemoryBackend();
  await backend.store.tenants.create({ id: testCaller.tenant, name: "Acme" });
  const { secret } = await backend.store.keys.create(testCaller.tenant, { name: "k", scopes: [] });
  auth = { "x-api-key": secret, "x-user-id": testCaller.user };
  ref = await createTestSession(backend);
  gateway = createGateway({
    ...backend,
    secrets: ["s".repeat(32)],
    onError: (error) => errors.push(error),
  });
});

afterAll(async () => {
  await gateway.close();
  await Promise.all([backend.signals.close(), backend.log.close()]);
  await backend.store.close();
});

function request(path: string, { method = "GET", body }: { method?: string; body?: unknown } = {}): Request {
  return new Request(`https://app.example.com/api/v1${path}`, {
    method,
    headers: { ...auth, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Cloudflare Workers pass no signal, and some adapters pass only the path as URL. */
function override(given: Request, fields: { signal?: undefined; url?: string }): Request {
  for (const [name, value] of Object.entries(fields)) Object.defineProperty(given, name, { value });
  return given;
}

describe("gateway.handle(request)", () => {
  test.each(["fe80::1%eth0", "2001:db8::1", "10.0.0.1"])(
    "decides for the client address %s, and the audit has a random id instead",
    async (clientAddress) => {
      const key = await requestInteraction(backend, ref, "approval");
      const decide = request(`/sessions/${ref.session}/interactions/${key}/decide`, {
        method: "POST",
        body: { decision: "approve" },
      });
      const response = await gateway.handle(decide, { clientAddress });
      expect([response.status, await response.json()]).toMatchObject([
        200,
        { interaction: { status: "approved" } },
      ]);
      const row = (await backend.store.audit.list(testCaller.tenant, { after: 0, limit: 100 })).findLast(
        ({ action }) => action === "approval.approved",
      );
      const { from } = JSON.parse(row?.detail ?? "") as { from: string };
      expect(from).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test("names event streams as the only channel if the host accepts no sockets", async () => {
    const ticket = { method: "POST", body: {} };
    const without = await gateway.handle(request("/tickets", ticket), { hasSockets: false });
    expect(await without.json()).toMatchObject({ channels: ["sse"] });
    const usual = await gateway.handle(request("/tickets", ticket));
    expect(await usual.json()).not.toHaveProperty("channels");
  });

  test("accepts a request without a signal, and ends its stream when the host cancels the body", async () => {
    const post = override(request("/sessions", { method: "POST", body: { title: "x" } }), {
      signal: undefined,
    });
    expect((await gateway.handle(post)).status).toBe(201);
    const events = override(request(`/sessions/${ref.session}/events?dialect=native`), { signal: undefined });
    const response = await gateway.handle(events);
    const reader = response.body?.getReader();
    await reader?.read();
    expect(gateway.stats().connections).toBe(1);
    await reader?.cancel();
    await expect.poll(() => gateway.stats().connections).toBe(0);
  });

  test("accepts a path as URL, and refuses a malformed URL", async () => {
    const listed = await gateway.handle(override(request(""), { url: "/api/v1/sessions?limit=1" }));
    expect([listed.status, await listed.json()]).toMatchObject([200, { sessions: [{}] }]);
    const elsewhere = await gateway.handle(override(request(""), { url: "/sessions" }));
    expect([elsewhere.status, await elsewhere.json()]).toMatchObject([404, { error: "NOT_FOUND" }]);
    const malformed = await gateway.handle(override(request(""), { url: "http://[/api/v1/sessions" }));
    expect([malformed.status, await malformed.json()]).toMatchObject([400, { error: "BAD_REQUEST" }]);
  });

  test("reports a body that the host has read, with how to pass it", async () => {
    const read = request("/sessions", { method: "POST", body: { title: "read" } });
    const clone = read.clone();
    await read.text();
    const refused = await gateway.handle(read);
    expect([refused.status, await refused.json()]).toMatchObject([500, { error: "SERVER_ERROR" }]);
    expect(String(errors.at(-1))).toContain("request.clone()");
    const locked = request("/sessions", { method: "POST", body: { title: "locked" } });
    locked.body?.getReader();
    expect((await gateway.handle(locked)).status).toBe(500);
    const accepted = await gateway.handle(clone);
    expect([accepted.status, await accepted.json()]).toMatchObject([201, { title: "read" }]);
  });

  test("answers HEAD without a body, also for an event stream, and OPTIONS with the methods", async () => {
    for (const path of ["/sessions", `/sessions/${ref.session}/events?dialect=native`]) {
      const head = await gateway.handle(request(path, { method: "HEAD" }));
      expect([head.status, head.body]).toEqual([200, null]);
    }
    expect(gateway.stats().connections).toBe(0);
    const options = await gateway.handle(request("/sessions", { method: "OPTIONS" }));
    expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS, POST"]);
  });
});
