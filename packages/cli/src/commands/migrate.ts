/**
 * `addMigrate` adds `turnstream migrate`: it updates the tables of the database to this version, and reports each
 * migration while it runs. It also creates the tables of features, and deletes those of one that nobody needs any more.
 * Invariant: it never downgrades. It reports success only after all migrations, and closes its connection also after a
 * failure. Progress is written to stderr.
 */
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type FeatureTables, migrate, removeFeature } from "@turnstream/server";
import type { Command } from "commander";
import { ModuleFile } from "../agent-file/module-file.ts";
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
  const { folder } = call.context;
  const features = await Promise.all(modules.map((module) => importTables(module, folder)));
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

async function importTables(module: string, folder: string): Promise<FeatureTables> {
  const isFile = /^\.{0,2}\//.test(module);
  const { tables } = isFile ? await importFile(module, folder) : await importPackage(module, folder);
  if (isTables(tables)) return tables;
  throw new CommandError(`${module} must export \`tables\`, as @turnstream/payments does.`);
}

function isTables(value: unknown): value is FeatureTables {
  return typeof value === "object" && value !== null && "feature" in value && "migrations" in value;
}

type Exports = Readonly<Record<string, unknown>>;

async function importFile(file: string, folder: string): Promise<Exports> {
  const path = resolve(folder, file);
  if (!existsSync(path)) throw new CommandError(`There is no file ${file}.`);
  return new ModuleFile(folder, path).import();
}

/** Finds the package as a module of the folder would, because the command may be installed elsewhere. */
async function importPackage(name: string, folder: string): Promise<Exports> {
  const parentURL = pathToFileURL(join(folder, "package.json")).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(
        specifier,
        specifier === name && context.parentURL === import.meta.url ? { ...context, parentURL } : context,
      ),
  });
  try {
    return (await import(name)) as Exports;
  } catch (error) {
    throw new CommandError(`The feature ${name} can't be loaded: ${(error as Error).message}`);
  } finally {
    hooks.deregister();
  }
}
