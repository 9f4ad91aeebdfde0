/** `migrateDatabase` creates all tables in an empty database. */
import { tables as PAYMENT_TABLES } from "@turnstream/payments";
import { migrate, openDatabase } from "@turnstream/server";

export async function migrateDatabase(databaseUrl: string): Promise<void> {
  const db = openDatabase({ url: databaseUrl, max: 1 });
  try {
    await migrate(db, { features: [PAYMENT_TABLES] });
  } finally {
    await db.destroy();
  }
}
