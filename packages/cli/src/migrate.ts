/**
 * `migrateDatabase` is the command `turnstream migrate`: it updates the tables of the database to this version,
 * including those of the engine.
 * Invariant: it never downgrades. It reports success only after both migrations, and closes its connection also after a
 * failure.
 */
import { parseArgs } from "node:util";
import { migrate, migrateEngine, openDatabase } from "@turnstream/server";
import { databaseUrl } from "./with-store.ts";
import type { CliContext } from "./cli-context.ts";

export async function migrateDatabase(args: readonly string[], context: CliContext): Promise<void> {
  parseArgs({ args: [...args], options: {} });
  const url = databaseUrl(context);
  const db = openDatabase({ url, max: 1, name: "turnstream-cli" });
  try {
    const ran = await migrate(db);
    await migrateEngine(url);
    if (ran.length > 0) context.out(`Applied: ${ran.join(", ")}\n`);
    context.out("The database schema is up to date.\n");
  } finally {
    await db.destroy();
  }
}
