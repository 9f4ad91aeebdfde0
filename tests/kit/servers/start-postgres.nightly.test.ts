/** Tests one PostgreSQL server under everything that a chaos run does to it. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type PostgresServer, startPostgres } from "./start-postgres.ts";
import { listDescendants, isAlive } from "../processes/process-tree.ts";

let postgres: PostgresServer;

beforeAll(async () => {
  postgres = await startPostgres();
});

afterAll(async () => {
  await postgres.stop();
});

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows.map((row) => Object.values(row)[0]);
  } finally {
    await client.end();
  }
}

/** Returns the ids of the processes that created the existing shared memory segments. */
function sharedMemory(): number[] {
  const [, ...lines] = readFileSync("/proc/sysvipc/shm", "utf8").trim().split("\n");
  return lines.map((line) => Number(line.trim().split(/\s+/)[4]));
}

test("databases are separate", async () => {
  const [one, other] = await Promise.all([
    postgres.createDatabase("one"),
    postgres.createDatabase('an "odd" name'),
  ]);
  await query(one, "create table only_here ()");
  const count = "select count(*)::int from pg_tables where tablename = 'only_here'";
  expect(await query(one, count)).toEqual([1]);
  expect(await query(other, count)).toEqual([0]);
  expect(await query(other, "show fsync")).toEqual(["on"]);
});

test("committed rows survive kill -9, an open transaction does not", async () => {
  const url = await postgres.createDatabase("killed");
  await query(url, "create table stored as select generate_series(1, 1000) as n");
  const writer = new Client({ connectionString: url });
  const cutOff = new Promise((resolve) => writer.on("error", resolve));
  await writer.connect();
  await writer.query("begin; insert into stored values (0)");
  const family = [postgres.pid, ...listDescendants(postgres.pid)];
  expect(family.length).toBeGreaterThan(3);
  expect(sharedMemory()).toContain(postgres.pid);

  const { pid } = postgres;
  await postgres.kill();
  expect(family.filter(isAlive)).toEqual([]);
  expect(sharedMemory()).not.toContain(pid);
  await cutOff;
  await postgres.restart();
  expect(await query(url, "select count(*)::int from stored")).toEqual([1000]);
});

test("a frozen server answers only after it is thawed, also on existing connections", async () => {
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  postgres.freeze();
  let answered = false;
  const answer = client.query("select 1 as one").finally(() => (answered = true));
  await sleep(200);
  expect(answered).toBe(false);
  postgres.thaw();
  expect((await answer).rows).toEqual([{ one: 1 }]);
  await client.end();
});

test("a normal restart disconnects clients and retains rows", async () => {
  const url = await postgres.createDatabase("restarted");
  await query(url, "create table stored as select 1 as n");
  const client = new Client({ connectionString: url });
  const cutOff = new Promise((resolve) => client.on("error", resolve));
  await client.connect();
  await postgres.restart();
  await cutOff;
  expect(await query(url, "select n from stored")).toEqual([1]);
});

test("an unknown setting fails with PostgreSQL's error message", async () => {
  await expect(startPostgres({ config: { nonsense: "1" } })).rejects.toThrow(
    expect.objectContaining({ code: "start_failed", message: expect.stringContaining("nonsense") }),
  );
});
