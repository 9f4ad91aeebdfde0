/** `turnstream migrate`: brings the database to the tables of this version, the engine's too. Never goes back. */
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
    if (ran.length > 0) context.out(`Done: ${ran.join(", ")}\n`);
    context.out("The database has the tables of this version.\n");
  } finally {
    await db.destroy();
  }
}
