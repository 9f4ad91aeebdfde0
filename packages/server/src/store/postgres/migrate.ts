/**
 * Brings a database to the tables that this version works on. Any number of processes may do so at once, on an
 * empty database too: they go one after the other. Never goes back.
 */
import { sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { StoreError } from "../errors.ts";
import type { Db } from "./database.ts";
import { toStoreError } from "./guard.ts";
import { core } from "./migrations/0001-core.ts";
import { ledger } from "./migrations/0002-ledger.ts";

const migrations: Readonly<Record<string, Migration>> = { "0001-core": core, "0002-ledger": ledger };

/** Any number will do, as long as nobody else in the database uses it. */
const LOCK = 7_817_233_602;

/** @returns the names of the migrations that this call ran */
export async function migrate(db: Db): Promise<string[]> {
  try {
    return await db.connection().execute(async (held) => {
      // Kysely's own lock is a row in a table that doesn't exist yet on an empty database.
      await sql`select pg_advisory_lock(${LOCK})`.execute(held);
      try {
        return await migrateAlone(held);
      } finally {
        await sql`select pg_advisory_unlock(${LOCK})`.execute(held);
      }
    });
  } catch (error) {
    throw toStoreError(error, "migrate");
  }
}

async function migrateAlone(db: Db): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) throw error instanceof Error ? error : new StoreError("INTERNAL", "migrate");
  return results.filter(({ status }) => status === "Success").map(({ migrationName }) => migrationName);
}
