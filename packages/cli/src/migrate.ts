/** `turnstream migrate`: brings the database to the tables of this version, the engine's too. Never goes back. */
import { parseArgs } from "node:util";
import { migrate, migrateEngine, openDatabase } from "@turnstream/server";
import { databaseUrl } from "./with-store.ts";
import type { World } from "./cli-context.ts";

export async function migrateDatabase(args: readonly string[], world: World): Promise<void> {
  parseArgs({ args: [...args], options: {} });
  const url = databaseUrl(world);
  const db = openDatabase({ url, max: 1, name: "turnstream-cli" });
  try {
    const ran = await migrate(db);
    await migrateEngine(url);
    if (ran.length > 0) world.out(`Done: ${ran.join(", ")}\n`);
    world.out("The database has the tables of this version.\n");
  } finally {
    await db.destroy();
  }
}
