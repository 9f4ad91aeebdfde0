/**
 * Promise 25 for network addresses, on real servers: what a client does over HTTP leaves its address in no table and in
 * no key of Redis, before and after the user is erased.
 */
import { openBackend, type TestBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createGateway, type Gateway } from "../../src/gateway/gateway.ts";
import { eraseUser } from "../../src/session/lifecycle/erase.ts";
import { createTestSession, requestInteraction } from "./pending-interactions.ts";

const ADDRESSES = ["203.0.113.77", "2001:db8:77::c0:ffee", "fe80::77%eth0"];
const actor = { tenant: "acme", user: "canary-of-a-user" };
let url: string;
let backend: TestBackend;
let gateway: Gateway;
let auth: Record<string, string>;

beforeAll(async () => {
  url = await migratedDatabaseUrl();
  backend = await openBackend({ databaseUrl: url, redisUrl: sharedRedisUrl(), keyPrefix: freshPrefix() });
  await backend.store.tenants.create({ id: "acme", name: "acme" });
  const { secret } = await backend.store.keys.create("acme", { name: "k", scopes: [] });
  auth = { "x-api-key": secret, "x-user-id": actor.user };
  gateway = createGateway({ ...backend, secrets: ["s".repeat(32)] });
});
afterAll(async () => {
  await gateway.close();
  await backend.close();
});

async function tablesWith(text: string): Promise<string[]> {
  const tables = await runSql(
    url,
    "select table_name as name from information_schema.tables where table_schema = 'turnstream'",
  );
  expect(tables.length).toBeGreaterThan(20);
  const each = tables.map(
    ({ name }) => `select '${String(name)}' as name from "${String(name)}" t where t::text like '%${text}%'`,
  );
  return (await runSql(url, each.join(" union "))).map(({ name }) => String(name)).toSorted();
}

test("no address of a client is stored, and nothing of the user stays after the erasure (promise 25)", async () => {
  for (const clientAddress of ADDRESSES) {
    const ref = await createTestSession(backend, actor);
    const send = async (method: string, path: string, body?: object, headers = auth) => {
      const init = body === undefined ? {} : { body: JSON.stringify(body) };
      const all = { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) };
      const request = new Request(`http://gateway/api/v1${path}`, { method, headers: all, ...init });
      const response = await gateway.handle(request, { clientAddress });
      return {
        status: response.status,
        json: (await response.json().catch(() => null)) as { token?: string },
      };
    };
    const path = `/sessions/${ref.session}`;
    for (const [kind, verb, body] of [
      ["approval", "decide", { decision: "approve", always: true }],
      ["approval", "decide", { decision: "reject" }],
      ["question", "answer", { answers: [{ question: "meal", selected: ["dinner"] }] }],
      ["form", "submit", { values: { email: "an@example.com" }, go_on: false }],
    ] as const) {
      const key = await requestInteraction(backend, ref, kind);
      expect((await send("POST", `${path}/interactions/${key}/${verb}`, body)).status).toBe(200);
    }
    expect((await send("DELETE", `${path}/allowances/broker/trade`)).status).toBe(204);
    expect((await send("POST", "/tokens", { user_id: actor.user })).status).toBe(201);
    const { token } = (await send("POST", `${path}/shares`, {})).json;
    expect((await send("GET", `/shares/${token}`, undefined, {})).status).toBe(200);
    expect((await send("GET", "/sessions", undefined, { "x-api-key": "guess" })).status).toBe(401);
    expect((await send("DELETE", path)).status).toBe(204);
  }
  for (const address of ADDRESSES) expect(await tablesWith(address), address).toEqual([]);
  await createTestSession(backend, actor);
  expect((await tablesWith(actor.user)).length).toBeGreaterThan(1);
  await eraseUser(backend, actor.tenant, actor.user);
  expect(await tablesWith(actor.user)).toEqual([]);
});
