/**
 * `addMigrate` adds `turnstream migrate`: it updates the tables of the database to this version, and reports each
 * migration while it runs.
 * Invariant: it never downgrades. It reports success only after all migrations, and closes its connection also after a
 * failure. Progress is written to stderr.
 */
import { migrate } from "@turnstream/server";
import type { Command } from "commander";
import type { CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { withDatabase } from "../open-backend.ts";

export function addMigrate(program: Command, context: CliContext): void {
  program
    .command("migrate")
    .description("update the tables to this version")
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
  const schema = call.settings.schema.value ?? "";
  const applied = await withDatabase(call.settings, async (db) => {
    call.notice(`Migrating the schema ${schema}`);
    return migrate(db, { onMigration: (name) => call.notice(`  ${name}`) });
  });
  call.print({ schema, applied }, [
    ...(applied.length > 0 ? [`Applied: ${applied.join(", ")}`] : []),
    "The database schema is up to date.",
  ]);
}
