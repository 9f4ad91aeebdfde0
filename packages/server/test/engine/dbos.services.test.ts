/** Runs the contract of the engine on DBOS with PostgreSQL, and tests what is specific to it. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import pg from "pg";
import { afterEach, expect, test, vi } from "vitest";

import { createDbosEngine as create, type DbosEngineOptions } from "../../src/engine/dbos.ts";
import { migrateEngine } from "../../src/engine/dbos-migrate.ts";
import type { Engine, JobHandler } from "../../src/engine/engine.ts";
import { isEngineError } from "../../src/engine/errors.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { describeEngine } from "./engine.contract.ts";

describeEngine("DBOS", async () => {
  const databaseUrl = await migratedDatabaseUrl();
  return { open: (options) => create({ ...options, databaseUrl }) };
});

/** Timeout for expected results. Vitest's default is one second. */
const PATIENCE = { timeout: 30_000 };
const work = () => Promise.resolve();
const open = new Set<Engine>();

async function createDbosEngine(options: DbosEngineOptions): Promise<Engine> {
  const engine = await create(options);
  open.add(engine);
  return engine;
}

// An engine that a failed test leaves open would make all other tests fail.
afterEach(async () => {
  for (const engine of open) await engine.close();
  open.clear();
});

async function withPool<T>(databaseUrl: string, use: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}

test("refuses a second engine in one process and a database that is not migrated", async () => {
  const databaseUrl = await freshDatabaseUrl();
  const refused: unknown = await createDbosEngine({ databaseUrl, work }).catch((error: unknown) => error);
  expect(isEngineError(refused, "NOT_MIGRATED")).toBe(true);
  expect(String(refused)).toContain("Run `turnstream migrate`, or `migrateEngine(databaseUrl)`");
  await migrateEngine(databaseUrl);
  const engine = await createDbosEngine({ databaseUrl, work });
  await expect(createDbosEngine({ databaseUrl, work })).rejects.toSatisfy((error) =>
    isEngineError(error, "TAKEN"),
  );
  await engine.close();
});

test("several processes can migrate an empty database at once", async () => {
  const databaseUrl = await freshDatabaseUrl();
  await Promise.all([1, 2, 3].map(() => migrateEngine(databaseUrl)));
  const engine = await createDbosEngine({ databaseUrl, work });
  expect(await engine.start("s/a")).toBe(true);
  await engine.close();
});

test("no table contains data of a deleted session or the message of an error", async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const session = `canary${randomUUID()}`;
  const said: string[] = [];
  const engine = await createDbosEngine({
    databaseUrl,
    log: (_level, text) => said.push(text),
    work: async ({ id, signal }) => {
      if (id.endsWith("throws")) throw new Error("secretword");
      if (id.endsWith("waits")) await vi.waitUntil(() => signal.aborted, PATIENCE);
    },
  });
  const everything = () =>
    withPool(databaseUrl, async (pool) => {
      const { rows: tables } = await pool.query<{ name: string }>(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'dbos'",
      );
      const texts = tables.map(async ({ name }) => {
        const { rows } = await pool.query<{ text: string }>(`select t::text as text from ${name} t`);
        return rows.map(({ text }) => text);
      });
      return (await Promise.all(texts)).flat().join("\n");
    });
  for (const turn of ["throws", "waits", "ends"]) await engine.start(`${session}/${turn}`);
  await vi.waitFor(async () => expect(await engine.isRunning(`${session}/throws`)).toBe(false), PATIENCE);
  const before = await everything();
  expect(before).toContain(session);
  expect(before).not.toContain("secretword");
  expect(said.join("\n")).not.toContain("secretword");
  expect(await engine.deleteJobs(`${session}/`)).toBe(3);
  await vi.waitUntil(() => engine.running === 0, PATIENCE);
  expect(await everything()).not.toContain(session);
  await engine.close();
});

test("work in a job runs outside of DBOS: no step and no child is recorded", async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const engine = await createDbosEngine({
    databaseUrl,
    work: async ({ id }) => {
      if (id === "s/a") await engine.start("s/b");
    },
  });
  const count = (sql: string) => withPool(databaseUrl, async (pool) => (await pool.query(sql)).rowCount);
  await engine.start("s/a");
  await vi.waitFor(async () => {
    expect(await count("select from dbos.workflow_status where status = 'SUCCESS'")).toBe(2);
    expect(await count("select from dbos.operation_outputs")).toBe(0);
    expect(await count("select from dbos.workflow_status where parent_workflow_id is not null")).toBe(0);
  }, PATIENCE);
  await engine.close();
});

test("an idle engine sends no queries to the database", async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const engine = await createDbosEngine({ databaseUrl, work });
  const latest = () =>
    withPool(databaseUrl, async (pool) => {
      const { rows } = await pool.query<{ at: Date | null }>(
        "select max(query_start) as at from pg_stat_activity where application_name = $1",
        [`turnstream-engine-${engine.executor}`.slice(0, 63)],
      );
      return rows[0]?.at?.getTime();
    });
  let before = await latest();
  // Wait until the queries of the start are over.
  await vi.waitUntil(async () => {
    const last = before;
    await sleep(300);
    before = await latest();
    return before === last;
  }, PATIENCE);
  expect(before).toBeGreaterThan(0);
  // DBOS itself would query several times a second.
  await sleep(1_000);
  expect(await latest()).toBe(before);
  await engine.start("s/a");
  expect(await latest()).toBeGreaterThan(before ?? 0);
  await engine.close();
});

test("a row that a frozen process locks doesn't block the recovery of other jobs", async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const begun: string[] = [];
  const wait: JobHandler = ({ id, signal }) => {
    begun.push(id);
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  };
  const dead = await createDbosEngine({ databaseUrl, work: wait });
  for (const turn of ["a", "b", "c"]) await dead.start(`s/${turn}`);
  await dead.close();
  begun.length = 0;
  const frozen = new pg.Client({ connectionString: databaseUrl });
  await frozen.connect();
  await frozen.query("begin");
  await frozen.query("update dbos.workflow_status set updated_at = 0 where workflow_uuid = 's/b'");
  const engine = await createDbosEngine({ databaseUrl, work: wait });
  const recovered = engine.recover(dead.executor);
  try {
    await vi.waitFor(() => expect(begun.toSorted()).toEqual(["s/a", "s/c"]), PATIENCE);
    await sleep(300);
    expect(begun).toHaveLength(2);
  } finally {
    await frozen.query("rollback");
  }
  expect(await recovered).toBe(3);
  await vi.waitFor(() => expect(begun).toHaveLength(3), PATIENCE);
  await frozen.end();
  await engine.close();
});

test("jobs survive a crash of the database, and jobs that end meanwhile are recorded afterwards", async () => {
  const server = await startPostgres();
  const databaseUrl = await server.createDatabase("engine");
  await migrateEngine(databaseUrl);
  let over = false;
  const engine = await createDbosEngine({
    databaseUrl,
    work: async () => {
      await vi.waitUntil(() => over, PATIENCE);
    },
  });
  for (let n = 0; n < 20; n++) await engine.start(`s/${n}`);
  await vi.waitUntil(() => engine.running === 20, PATIENCE);
  await server.kill();
  await expect(engine.isRunning("s/0")).rejects.toSatisfy((error) => isEngineError(error, "UNAVAILABLE"));
  await expect(engine.recover("missing")).rejects.toSatisfy((error) => isEngineError(error, "UNAVAILABLE"));
  over = true;
  await vi.waitUntil(() => engine.running === 0, PATIENCE);
  await server.restart();
  const isOver = async (n: number) => !(await engine.isRunning(`s/${n}`));
  for (let n = 0; n < 20; n++) await vi.waitUntil(() => isOver(n), PATIENCE);
  expect(await engine.prune({ olderThanMs: 0, limit: 100 })).toBe(20);
  expect(await engine.recover("missing")).toBe(0);
  await engine.close();
  await server.stop();
});
