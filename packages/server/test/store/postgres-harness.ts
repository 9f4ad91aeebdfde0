/** A harness on a new, migrated database of the shared PostgreSQL server, whose clock can be advanced. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { preparedDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";

import type { Db } from "../../src/store/database/database.ts";
import { openDatabase, type PostgresOptions } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { type Harness, noteLostEntry } from "./harness.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { migrateDatabase } from "@turnstream/testkit/backend/migrate-database.ts";

export interface PostgresHarness extends Harness {
  readonly db: Db;
  readonly url: string;
}

export async function postgresHarness(options: Omit<PostgresOptions, "url"> = {}): Promise<PostgresHarness> {
  const url = await migratedDatabaseUrl();
  const db = openDatabase({ url, ...options });
  return { store: createPostgresStore(db, { onError: noteLostEntry }), db, url, wait: (ms) => sleep(ms) };
}

/** Found before PostgreSQL's own functions by statements without a schema name. */
const CLOCK = [
  "create schema test_clock",
  "create table test_clock.ahead as select interval '0' as span",
  `create function test_clock.clock_timestamp() returns timestamptz language sql volatile as
    'select pg_catalog.clock_timestamp() + span from test_clock.ahead'`,
  `create function test_clock.now() returns timestamptz language sql stable as
    'select pg_catalog.now() + span from test_clock.ahead'`,
];

/** Makes connections find the functions of the clock first. */
function withClock(url: string): string {
  return `${url}?options=${encodeURIComponent("-c search_path=turnstream,test_clock,pg_catalog")}`;
}

/** Tests advance the clock instead of waiting, so that long durations work on a machine that stalls. */
export async function timedHarness(options: Omit<PostgresOptions, "url"> = {}): Promise<PostgresHarness> {
  const database = await preparedDatabaseUrl("turnstream_clock_template", async (template) => {
    await runSql(template, ...CLOCK);
    await migrateDatabase(withClock(template));
  });
  const url = withClock(database);
  const db = openDatabase({ url, ...options });
  const wait = async (ms: number) => {
    await runSql(url, `update test_clock.ahead set span = span + ${ms} * interval '1 ms'`);
    // Lets other tasks run.
    await sleep(Math.min(ms, 50));
  };
  return { store: createPostgresStore(db, { onError: noteLostEntry }), db, url, wait };
}

/** Connects to the database of a `timedHarness` as a role that has only the grants of docs/tables.md. */
export async function connectAsApp(harness: PostgresHarness): Promise<{ db: Db; store: ClosableStore }> {
  const role = `app_${randomUUID().replaceAll("-", "_")}`;
  const page = readFileSync(new URL("../../../../docs/tables.md", import.meta.url), "utf8");
  const grants = /```sql\n(.*?)```/s.exec(page)?.[1]?.replaceAll("to app;", `to ${role};`) ?? "";
  await runSql(
    harness.url,
    `create role ${role} login`,
    `grant usage on schema test_clock to ${role}`,
    `grant select on all tables in schema test_clock to ${role}`,
    ...grants.split("\n").filter(Boolean),
  );
  const url = new URL(harness.url);
  url.username = role;
  const db = openDatabase({ url: url.href });
  return { db, store: createPostgresStore(db) };
}
