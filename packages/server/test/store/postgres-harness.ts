/** A harness on a new, migrated database of the shared PostgreSQL server, whose clock can be advanced. */
import { setTimeout as sleep } from "node:timers/promises";

import { preparedDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";

import type { Db } from "../../src/store/postgres/database.ts";
import { openDatabase, type PostgresOptions } from "../../src/store/postgres/open-database.ts";
import { createPostgresStore } from "../../src/store/postgres/store.ts";
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
