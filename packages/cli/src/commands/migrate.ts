/**
 * `addMigrate` adds `turnstream migrate`: it updates the tables of the database to this version, and reports each
 * migration while it runs. It also creates the tables of features, and deletes those of one that nobody needs any more.
 * Invariant: it never downgrades. It reports success only after all migrations, and closes its connection also after a
 * failure. Progress is written to stderr.
 */
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type FeatureTables, migrate, removeFeature } from "@turnstream/server";
import type { Command } from "commander";
import { CommandError, type CliContext, UsageError } from "../cli-context.ts";
import { action, collect, type CommandCall, examples } from "../command-call.ts";
import { withDatabase } from "../open-backend.ts";

interface MigrateOptions {
  readonly feature?: readonly string[];
  readonly remove?: string;
}

export function addMigrate(program: Command, context: CliContext): void {
  program
    .command("migrate")
    .description("update the tables to this version")
    .option(
      "--feature <module>",
      "also the tables of this feature: a package, or a file that exports `tables`. Repeat it",
      collect,
    )
    .option("--remove <name>", "instead delete the tables of this feature, with all their rows")
    .addHelpText(
      "after",
      examples([
        "turnstream migrate",
        "turnstream migrate --feature @turnstream/payments --feature ./reactions.ts",
        "turnstream migrate --remove payments",
        "DATABASE_URL=postgres://localhost/app turnstream migrate --schema chat",
      ]),
    )
    .action(action(context, migrateDatabase));
}

async function migrateDatabase(
  call: CommandCall,
  { feature: modules = [], remove }: MigrateOptions,
): Promise<void> {
  if (remove !== undefined) return removeTables(call, remove, modules);
  const features = await Promise.all(modules.map(importTables));
  const schema = call.settings.schema.value ?? "";
  const applied = await withDatabase(call.settings, async (db) => {
    call.notice(`Migrating the schema ${schema}`);
    return migrate(db, { features, onMigration: (name) => call.notice(`  ${name}`) });
  });
  call.print({ schema, applied }, [
    ...(applied.length > 0 ? [`Applied: ${applied.join(", ")}`] : []),
    "The database schema is up to date.",
  ]);
}

async function removeTables(call: CommandCall, name: string, modules: readonly string[]): Promise<void> {
  if (modules.length > 0) throw new UsageError("--remove can't be used together with --feature.");
  if (!(await withDatabase(call.settings, (db) => removeFeature(db, name))))
    throw new CommandError(`The database doesn't have the feature ${name}.`);
  call.print({ removed: name }, [`Deleted the tables of the feature ${name}.`]);
}

/** Resolves the module as a file of the current folder would. */
async function importTables(module: string): Promise<FeatureTables> {
  const isFile = /^\.{0,2}\//.test(module);
  const path = isFile ? resolve(module) : createRequire(join(process.cwd(), "package.json")).resolve(module);
  const { tables } = (await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw new CommandError(`The feature ${module} can't be loaded: ${(error as Error).message}`);
  })) as { readonly tables?: FeatureTables };
  if (typeof tables?.feature === "string") return tables;
  throw new CommandError(`${module} must export \`tables\`, as @turnstream/payments does.`);
}
