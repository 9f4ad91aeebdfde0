/**
 * `addMigrate` adds `turnstream migrate`: it updates the tables of the database to this version, including those of the
 * engine, and reports each migration while it runs.
 * Invariant: it never downgrades. It reports success only after both migrations, and closes its connection also after a
 * failure. Progress is written to stderr.
 */
import { migrate, migrateEngine } from "@turnstream/server";
import { requireDatabaseUrl } from "@turnstream/server/operator";
import type { Command } from "commander";
import type { CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { withDatabase } from "../open-backend.ts";

export function addMigrate(program: Command, context: CliContext): void {
  program
    .command("migrate")
    .description("update the tables to this version, including those of the engine")
    .addHelpText(
      "after",
      examples([
        "turnstream migrate",
        "DATABASE_URL=postgres://localhost/app turnstream migrate --schema chat",
      ]),
    )
    .action(action(context, migrateDatabase));
}

async function migrateDatabase(call: CommandCall): Promise<void> {
  const url = requireDatabaseUrl(call.settings);
  const schema = call.settings.schema.value ?? "";
  const applied = await withDatabase(call.settings, async (db) => {
    call.notice(`Migrating the schema ${schema}`);
    const ran = await migrate(db, { onMigration: (name) => call.notice(`  ${name}`) });
    call.notice("Migrating the tables of the engine (schema dbos)");
    await migrateEngine(url);
    return ran;
  });
  call.print({ schema, applied }, [
    ...(applied.length > 0 ? [`Applied: ${applied.join(", ")}`] : []),
    "The database schema is up to date.",
  ]);
}
