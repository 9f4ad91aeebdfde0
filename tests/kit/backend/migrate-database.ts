/** `migrateDatabase` creates all tables in an empty database, also those of features. */
import { migrate, openDatabase } from "@turnstream/server";
import { FEATURES } from "./test-features.ts";

export async function migrateDatabase(databaseUrl: string): Promise<void> {
  const db = openDatabase({ url: databaseUrl, max: 1 });
  try {
    await migrate(db, { features: FEATURES.flatMap(({ tables }) => tables ?? []) });
  } finally {
    await db.destroy();
  }
}
