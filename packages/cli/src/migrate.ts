/** `turnstream migrate`: brings the database to the tables of this version. Never goes back. */
import { parseArgs } from "node:util";
import { migrate, openDatabase } from "@turnstream/server";
import { databaseUrl } from "./with-store.ts";
import type { World } from "./world.ts";

export async function migrateDatabase(args: readonly string[], world: World): Promise<void> {
  parseArgs({ args: [...args], options: {} });
  const db = openDatabase({ url: databaseUrl(world), max: 1, name: "turnstream-cli" });
  try {
    const ran = await migrate(db);
    world.out(ran.length === 0 ? "Nothing to do.\n" : `Done: ${ran.join(", ")}\n`);
  } finally {
    await db.destroy();
  }
}
