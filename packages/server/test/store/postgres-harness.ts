/** A harness on a new, migrated database of the shared PostgreSQL server, whose clock can be put forward. */
import { setTimeout as sleep } from "node:timers/promises";

import { freshDatabaseUrl } from "@turnstream/services/shared.ts";
import { runSql } from "@turnstream/services/sql.ts";

import type { Db } from "../../src/store/postgres/database.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { openDatabase, type PostgresOptions } from "../../src/store/postgres/open-database.ts";
import { createPostgresStore } from "../../src/store/postgres/store.ts";
import type { Harness } from "./harness.ts";

export interface PostgresHarness extends Harness {
  readonly db: Db;
  readonly url: string;
}

export async function postgresHarness(options: Omit<PostgresOptions, "url"> = {}): Promise<PostgresHarness> {
  const url = await freshDatabaseUrl();
  const db = openDatabase({ url, ...options });
  await migrate(db);
  return { store: createPostgresStore(db), db, url, wait: (ms) => sleep(ms) };
}

/** Found before PostgreSQL's own by whoever doesn't name a schema. */
const CLOCK = [
  "create schema test_clock",
  "create table test_clock.ahead as select interval '0' as span",
  `create function test_clock.clock_timestamp() returns timestamptz language sql volatile as
    'select pg_catalog.clock_timestamp() + span from test_clock.ahead'`,
];

/** Its clock is put forward instead of waited for; so what is asked to last can last long, on a machine that stands still. */
export async function timedHarness(options: Omit<PostgresOptions, "url"> = {}): Promise<PostgresHarness> {
  const url = await freshDatabaseUrl();
  const name = new URL(url).pathname.slice(1);
  await runSql(url, ...CLOCK, `alter database ${name} set search_path = public, test_clock, pg_catalog`);
  const db = openDatabase({ url, ...options });
  await migrate(db);
  const wait = async (ms: number) => {
    await runSql(url, `update test_clock.ahead set span = span + ${ms} * interval '1 ms'`);
    // Others get their turn too.
    await sleep(Math.min(ms, 50));
  };
  return { store: createPostgresStore(db), db, url, wait };
}
