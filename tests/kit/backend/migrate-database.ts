/**
 * `migrateDatabase` creates all tables in an empty database, also those of `FEATURES`. Workers on it need the same
 * features, or they report that.
 */
import { knowledge } from "@turnstream/knowledge";
import { migrate, openDatabase, type ServerFeature } from "@turnstream/server";

export const FEATURES: readonly ServerFeature[] = [knowledge()];

export async function migrateDatabase(databaseUrl: string): Promise<void> {
  const db = openDatabase({ url: databaseUrl, max: 1 });
  try {
    await migrate(db, { features: FEATURES.flatMap(({ tables }) => tables ?? []) });
  } finally {
    await db.destroy();
  }
}
