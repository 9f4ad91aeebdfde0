/** New databases on the shared PostgreSQL server that have the tables of the store and of the engine already. */
import { preparedDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";

import { migrateEngine } from "../../src/engine/dbos-migrate.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";

export async function migrateAll(url: string): Promise<void> {
  await migrateStore(url);
  await migrateEngine(url);
}

export async function migrateStore(url: string): Promise<void> {
  const db = openDatabase({ url, max: 1 });
  try {
    await migrate(db);
  } finally {
    await db.destroy();
  }
}

export function migratedDatabaseUrl(): Promise<string> {
  return preparedDatabaseUrl("turnstream_template", migrateAll);
}
