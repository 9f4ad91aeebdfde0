/** `migrateDatabase` creates all tables in an empty database. */
import { migrate, openDatabase } from "@turnstream/server";

export async function migrateDatabase(databaseUrl: string): Promise<void> {
  const db = openDatabase({ url: databaseUrl, max: 1 });
  try {
    await migrate(db);
  } finally {
    await db.destroy();
  }
}
