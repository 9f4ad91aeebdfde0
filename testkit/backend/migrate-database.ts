/**
 * `migrateDatabase` creates the tables of the store and of the engine in an empty database. `migrateStore` creates only
 * those of the store.
 */
import { migrate, migrateEngine, openDatabase } from "@turnstream/server";

export async function migrateDatabase(databaseUrl: string): Promise<void> {
  await migrateStore(databaseUrl);
  await migrateEngine(databaseUrl);
}

export async function migrateStore(databaseUrl: string): Promise<void> {
  const db = openDatabase({ url: databaseUrl, max: 1 });
  try {
    await migrate(db);
  } finally {
    await db.destroy();
  }
}
