/** A harness on a new, migrated database of the shared PostgreSQL server. */
import { setTimeout as sleep } from "node:timers/promises";

import { freshDatabaseUrl } from "@turnstream/services/shared.ts";

import type { Db } from "../../src/store/postgres/database.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { openDatabase, type PostgresOptions } from "../../src/store/postgres/open.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import type { Harness } from "./harness.ts";

export interface PostgresHarness extends Harness {
  readonly db: Db;
  readonly url: string;
}

export async function postgresHarness(options: Omit<PostgresOptions, "url"> = {}): Promise<PostgresHarness> {
  const url = await freshDatabaseUrl();
  const db = openDatabase({ url, ...options });
  await migrate(db);
  return { store: postgresStore(db), db, url, wait: (ms) => sleep(ms) };
}
