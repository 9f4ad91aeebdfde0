/** Tests `turnstream doctor`, `token` and `config` on real servers: each planted fault is found, with its fix. */
import {
  createPostgresStore,
  createServer,
  createSession,
  openDatabase,
  type Server,
} from "@turnstream/server";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { openBackend, type TestBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { startNginx } from "@turnstream/testkit/servers/start-nginx.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { CliContext } from "../src/cli-context.ts";
import { ran } from "./ran.ts";

const SECRET = "a secret of this test with enough characters";
let redis: RedisServer;
let databaseUrl: string;
let backend: TestBackend;
let gateway: Server;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  redis = await startRedis();
  databaseUrl = await migratedDatabaseUrl();
  backend = await openBackend({ databaseUrl, redisUrl: redis.url });
  await backend.store.tenants.create({ id: "acme", name: "acme" });
  gateway = createServer({ ...backend, secrets: [SECRET] });
  await gateway.listen();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});
afterAll(async () => {
  await gateway.close();
  await backend.close();
  await redis.stop();
});

interface Shown {
  readonly name: string;
  readonly state: string;
  readonly text: string;
  readonly fix: string | null;
}

/** Returns the exit code and all findings that are not ok. */
async function diagnose(env: Record<string, string>, args: string[] = [], change: Partial<CliContext> = {}) {
  const all = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    TURNSTREAM_SECRET: SECRET,
    TURNSTREAM_AUDIT_KEY: SECRET,
    ...env,
  };
  const { code, out, err } = await ran(["doctor", "--json", ...args], all, change);
  expect(out + err).not.toContain("canary");
  const findings = JSON.parse(out) as Shown[];
  return { code, problems: findings.filter(({ state }) => state !== "ok") };
}

async function redisWith(config: Record<string, string>): Promise<string> {
  const server = await startRedis({ config });
  cleanups.push(() => server.stop());
  return server.url;
}

async function redisWithoutConfig(config: Record<string, string>): Promise<string> {
  const server = await startRedis({ config });
  cleanups.push(() => server.stop());
  await server.command("ACL", "SETUSER", "default", "-config");
  return server.url;
}

async function redisWithPassword(): Promise<string> {
  const server = await startRedis();
  cleanups.push(() => server.stop());
  await server.command("CONFIG", "SET", "requirepass", "x");
  return server.url.replace("//", "//:canary@");
}

test("servers that are set up well pass every check", async () => {
  expect(await diagnose({})).toEqual({ code: 0, problems: [] });
  const { code, out } = await ran(["doctor"], { DATABASE_URL: databaseUrl, REDIS_URL: redis.url });
  expect(code).toBe(0);
  expect(out).toMatch(/^warn +Audit key: not set/m);
  expect(out.split("\n").filter((line) => line.startsWith("ok"))).toHaveLength(8);
  expect(out).toMatch(/^ok +Node: /);
});

test.each<[string, () => Promise<string>, string, RegExp, RegExp]>([
  [
    "eviction",
    () => redisWith({ "maxmemory-policy": "allkeys-lru" }),
    "Redis eviction",
    /maxmemory-policy is allkeys-lru/,
    /noeviction/,
  ],
  [
    "eviction on a server that forbids CONFIG",
    () => redisWithoutConfig({ "maxmemory-policy": "allkeys-lru" }),
    "Redis eviction",
    /maxmemory-policy is allkeys-lru/,
    /noeviction/,
  ],
  ["full memory", () => redisWith({ maxmemory: "1" }), "Redis", /refuses writes: OOM/, /maxmemory/],
  ["a replica", () => redisWith({ replicaof: "127.0.0.1 1" }), "Redis", /READONLY/, /primary/],
  ["a wrong password", () => redisWithPassword(), "Redis", /refuses the user or password/, /REDIS_URL/],
  [
    "no Redis",
    async () => `redis://:canary@127.0.0.1:${await freePort()}`,
    "Redis",
    /Nothing listens/,
    /Start Redis/,
  ],
  ["no REDIS_URL", async () => "", "Redis", /REDIS_URL is not set/, /REDIS_URL/],
])("doctor finds %s", async (_, start, name, text, fix) => {
  const { code, problems } = await diagnose({ REDIS_URL: await start() });
  expect(code).toBe(1);
  const wrong = problems.filter(({ state }) => state === "wrong");
  expect(wrong).toEqual([
    { name, state: "wrong", text: expect.stringMatching(text), fix: expect.stringMatching(fix) },
  ]);
});

test.each([
  ["everysec", () => redisWith({ appendfsync: "everysec" }), /^not durable \(appendfsync everysec\)/],
  ["no append-only file", () => redisWith({ appendonly: "no" }), /^not durable \(appendonly no\)/],
  ["hidden settings", () => redisWithoutConfig({}), /^unknown/],
])("doctor warns of a Redis that may lose events, with %s", async (_, start, text) => {
  const fix = expect.stringContaining("docs/managed-redis.md") as string;
  expect(await diagnose({ REDIS_URL: await start() })).toEqual({
    code: 0,
    problems: [
      { name: "Redis durability", state: "warning", text: expect.stringMatching(text) as string, fix },
    ],
  });
});

test("doctor hints at a proxy in front of Redis", async () => {
  const front = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
  cleanups.push(() => front.close());
  const { code, problems } = await diagnose({ REDIS_URL: `redis://127.0.0.1:${front.port}` });
  expect(code).toBe(0);
  expect(problems).toMatchObject([{ name: "Redis connection", state: "hint", fix: null }]);
  expect(problems[0]?.text).toMatch(
    new RegExp(
      `connects 127.0.0.1:\\d+ to 127.0.0.1:${front.port}, .* sees .* to 127.0.0.1:${redis.port}\\.`,
    ),
  );
  const { out } = await ran(["doctor"], { DATABASE_URL: databaseUrl, REDIS_URL: redis.url });
  expect(out).toMatch(/^ok +Redis connection: direct$/m);
});

test("doctor finds a database without tables, and one that can't be reached", async () => {
  expect((await diagnose({ DATABASE_URL: await freshDatabaseUrl() })).problems).toMatchObject([
    { name: "Migrations", text: expect.stringContaining("0001-baseline"), fix: "Run `turnstream migrate`." },
  ]);
  const closed = `postgres://u:canary@127.0.0.1:${await freePort()}/x`;
  expect(await diagnose({ DATABASE_URL: closed })).toMatchObject({
    code: 1,
    problems: [
      { name: "PostgreSQL", state: "wrong", text: expect.stringContaining("Nothing listens at") },
      { name: "Migrations", state: "skipped" },
    ],
  });
});

test("doctor finds an old Node and a clock that differs", async () => {
  expect((await diagnose({}, [], { nodeVersion: "20.11.0" })).problems).toMatchObject([{ name: "Node" }]);
  const late = { now: () => Date.now() - 5_000 };
  expect((await diagnose({}, [], late)).problems).toMatchObject([
    { name: "Clocks", text: expect.stringMatching(/5\.\d s ahead of the clock of this machine/) },
  ]);
});

/** Starts nginx in front of the gateway. */
async function proxy(lines: string): Promise<string> {
  const nginx = await startNginx({
    http: (port) => `server {
      listen 127.0.0.1:${port};
      location / { proxy_pass ${gateway.url}; ${lines} }
    }`,
  });
  cleanups.push(() => nginx.stop());
  return nginx.url;
}

const withUrl = (url: string, env = {}) => diagnose(env, ["--url", url, "--tenant", "acme"]);

test("doctor finds a proxy that buffers event streams", { timeout: 60_000 }, async () => {
  expect((await withUrl(gateway.url)).problems).toMatchObject([{ name: "Proxy", state: "skipped" }]);
  await createSession(backend, { tenant: "acme", user: "an" }, { id: "s1" });
  expect(await withUrl(await proxy("proxy_buffering off;"))).toEqual({ code: 0, problems: [] });
  // nginx ignores the header with which the gateway switches buffering off.
  const buffering = await proxy(
    "proxy_buffering on; proxy_http_version 1.0; proxy_ignore_headers X-Accel-Buffering;",
  );
  expect(await withUrl(buffering)).toMatchObject({
    code: 1,
    problems: [{ name: "Proxy", fix: expect.stringContaining("proxy_buffering off") }],
  });
  expect((await withUrl(gateway.url, { TURNSTREAM_SECRET: `canary${SECRET}` })).problems).toMatchObject([
    { name: "Proxy", text: expect.stringContaining("refuses a token") },
  ]);
  expect((await withUrl(`http://127.0.0.1:${await freePort()}`)).problems).toMatchObject([
    { name: "Proxy", text: expect.stringContaining("can't be reached") },
  ]);
});

const list = (token: string) =>
  fetch(`${gateway.url}/api/v1/sessions`, { headers: { authorization: `Bearer ${token.trim()}` } });

test("token prints a token that the gateway accepts, and creates nothing", async () => {
  const env = { DATABASE_URL: databaseUrl, TURNSTREAM_SECRET: SECRET };
  const { code, out, err } = await ran(["token", "--user", "an", "--tenant", "acme"], env);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect((await list(out)).status).toBe(200);
  const missing = await ran(["token", "--user", "an", "--json", "--ttl", "90s", "--scopes", "read"], env);
  expect(missing.err).toBe("There is no tenant default. Requests with this token fail until it exists.\n");
  expect(JSON.parse(missing.out)).toMatchObject({
    tenant: "default",
    scopes: ["read"],
    tenant_exists: false,
  });
  const store = createPostgresStore(openDatabase({ url: databaseUrl }));
  expect(await store.tenants.get("default")).toBeNull();
  await store.close();
});

const token = (...args: string[]) => ran(["token", ...args], { TURNSTREAM_SECRET: SECRET });

test("token refuses what the gateway would refuse", async () => {
  for (const args of [[], ["--user", "an", "--scopes", "tokens"], ["--user", "an", "--ttl", "soon"]])
    expect(await token(...args)).toMatchObject({ code: 2, out: "" });
  expect((await token("--user", "an")).err).toBe("DATABASE_URL is not set, so the tenant was not checked.\n");
  expect(await ran(["token", "--user", "an"], {})).toMatchObject({
    code: 1,
    err: expect.stringContaining("TURNSTREAM_SECRET"),
  });
  expect(await ran(["token", "--user", "an"], { TURNSTREAM_SECRET: "canary" })).toMatchObject({
    code: 1,
    err: "turnstream: TURNSTREAM_SECRET has 6 bytes. Set TURNSTREAM_SECRET to at least 32 random bytes, for example with `openssl rand -hex 32`. All processes need the same.\n",
  });
});

test("options override the environment, and config shows the source", async () => {
  const args = ["config", "--print", "--schema", "chat", "--database-url", "postgres://u:canary@h/x"];
  const { code, out } = await ran(args, { DATABASE_URL: databaseUrl, TURNSTREAM_SECRET: `canary${SECRET}` });
  expect(code).toBe(0);
  expect(out).not.toContain("canary");
  expect(out).toContain("DATABASE_URL\tpostgres://u:***@h/x\toption\n");
  expect(out).toContain("TURNSTREAM_SCHEMA\tchat\toption\n");
  expect(
    await ran(["keys", "list", "--tenant", "acme", "--schema", "Chat;"], { DATABASE_URL: databaseUrl }),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining("TURNSTREAM_SCHEMA must have only small letters"),
  });
});
