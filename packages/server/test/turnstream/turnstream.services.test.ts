/** Runs the contract of `turnstream()` on PostgreSQL and Redis, and tests servers that can't be used. */
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { freshDatabaseUrl, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { expect, test } from "vitest";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { turnstream } from "../../src/turnstream/turnstream.ts";
import { turnstreamContract } from "./turnstream.contract.ts";

const secret = "s".repeat(32);

turnstreamContract("on servers", async () => ({
  databaseUrl: await freshDatabaseUrl(),
  redisUrl: sharedRedisUrl(),
  secret,
}));

const AGENTS = [defineAgent({ name: "a", title: false, model: scriptedModel([[]]) })];
const SILENT = { agents: AGENTS, user: () => "an", print: false, secret } as const;

test("names PostgreSQL's host and port if nothing listens there", async () => {
  const port = await freePort();
  const databaseUrl = `postgres://app:hidden@127.0.0.1:${port}/chat`;
  const app = turnstream({ ...SILENT, databaseUrl, redisUrl: sharedRedisUrl() });
  const error = await app.listen(0).catch((e: unknown) => e);
  expect(error).toMatchObject({ name: "SettingsError", code: "DATABASE" });
  expect(String(error)).toContain(`127.0.0.1:${port}`);
  expect(String(error)).toContain("DATABASE_URL");
  expect(String(error)).not.toContain("hidden");
});

test("names a database that doesn't exist", async () => {
  const databaseUrl = new URL(await freshDatabaseUrl());
  databaseUrl.pathname = "no_such_database";
  const app = turnstream({ ...SILENT, databaseUrl: databaseUrl.href, redisUrl: sharedRedisUrl() });
  await expect(app.parts()).rejects.toThrow("There is no database no_such_database");
});

test("names Redis's host and port if nothing listens there", async () => {
  const port = await freePort();
  const redisUrl = `redis://:hidden@127.0.0.1:${port}`;
  const app = turnstream({ ...SILENT, databaseUrl: await freshDatabaseUrl(), redisUrl });
  const error = await app.listen(0).catch((e: unknown) => e);
  expect(error).toMatchObject({ name: "SettingsError", code: "REDIS" });
  expect(String(error)).toContain(`127.0.0.1:${port}`);
  expect(String(error)).not.toContain("hidden");
});

test("without `migrates`, a database without tables is an error that names the command", async () => {
  const app = turnstream({
    ...SILENT,
    migrates: false,
    databaseUrl: await freshDatabaseUrl(),
    redisUrl: sharedRedisUrl(),
  });
  await expect(app.parts()).rejects.toThrow("turnstream migrate");
});

test.each([true, false])("refuses a database of another baseline, with migrates %j", async (migrates) => {
  const databaseUrl = await migratedDatabaseUrl();
  await runSql(
    databaseUrl,
    "update turnstream.migrations set name = '0001-baseline-0' where name not like '%/%'",
  );
  const app = turnstream({ ...SILENT, migrates, databaseUrl, redisUrl: sharedRedisUrl() });
  const error = await app.parts().catch((e: unknown) => e);
  expect(error).toMatchObject({ name: "SettingsError", code: "DATABASE" });
  expect(String(error)).toContain("drop the schema, or use an empty database");
});

test("a fetch host serves requests as soon as PostgreSQL can be reached again", async () => {
  const direct = new URL(await freshDatabaseUrl());
  const proxy = await startProxy({ to: { host: direct.hostname, port: Number(direct.port) } });
  const throughProxy = new URL(direct);
  throughProxy.port = String(proxy.port);
  const app = turnstream({ ...SILENT, databaseUrl: throughProxy.href, redisUrl: sharedRedisUrl() });
  const request = () => app.handle(new Request("http://127.0.0.1/api/v1/sign-in", { method: "POST" }));
  try {
    proxy.cut();
    await expect(request()).rejects.toMatchObject({ name: "SettingsError", code: "DATABASE" });
    await proxy.heal();
    expect((await request()).status).toBe(200);
  } finally {
    await app.close();
    await proxy.close();
  }
});
