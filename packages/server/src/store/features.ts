/**
 * `FeatureTables` declares what a feature keeps in the database, and `StorePart` its statements. `postgresFeatures` reads
 * which features the database has.
 *
 * Invariant: a database keeps a feature's data until an operator removes it, whichever processes run, and erases them with
 * its sessions, tenants and users. So its tables reference them with ON DELETE CASCADE, and the statements that delete the
 * tables are stored beside its name.
 */
import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { ErrorHandler } from "../util/error-handler.ts";
import { StoreError } from "./errors.ts";
import type { Db } from "./database/database.ts";
import type { StoreMigration } from "./database/migration-steps.ts";

/** The tables of a feature, in the schema of the server. */
export interface FeatureTables {
  /** The name of the feature. Each table has this name, or one that starts with it and `_`. */
  readonly feature: string;
  /** The tables, in an order in which they can be dropped. */
  readonly names: readonly string[];
  /**
   * Create and change the tables, in order. The first one is `createTables([...])`. Each table of a session has
   * `tenant_id` and `session_id`, and references `sessions` with ON DELETE CASCADE; each one of a tenant references
   * `tenants` so.
   */
  readonly migrations: readonly [StoreMigration, ...StoreMigration[]];
  /**
   * Columns with the id of a user who need not own the session. The erasure of a user sets them to null. Each table has
   * `tenant_id` and `session_id`.
   */
  readonly userColumns?: readonly UserColumn[];
}

export type UserColumn = readonly [table: string, column: string];

/** Functions that all return promises. */
type Calls<Part> = { readonly [Name in keyof Part]: (...args: never[]) => Promise<unknown> };

/**
 * The statements of a feature on its tables. `store.use(part)` returns it bound to the pool, and `tx.use(part)` to the
 * transaction of `tx`, so its changes are part of that commit. Declare it once, outside of functions.
 */
export interface StorePart<Part extends Calls<Part>> {
  /** For errors: the name of the feature, or one that starts with it. */
  readonly name: string;
  /**
   * Returns an object of functions that don't use `this`. They may run again after a deadlock. An argument that is a string
   * must be an id of at most 256 characters, or the call fails with INVALID: pass other texts in objects.
   */
  create(db: Db): Part;
}

export type UsePart = <Part extends Calls<Part>>(part: StorePart<Part>) => Part;

/** The first migration of a feature. Its name has a digest, so a database tells which statements created its tables. */
export function createTables(statements: readonly string[]): StoreMigration {
  const digest = createHash("sha256").update(statements.join("\n")).digest("hex").slice(0, 12);
  return {
    name: `0001-tables-${digest}`,
    async up(tx) {
      for (const statement of statements) await sql.raw(statement).execute(tx);
    },
  };
}

const FEATURE = /^[a-z][a-z0-9_]{0,39}$/;

/** @throws StoreError with INVALID */
export function checkFeatureTables({ feature, names, userColumns = [] }: FeatureTables): void {
  if (!FEATURE.test(feature))
    throw new StoreError(
      "INVALID",
      `a feature's name must have small letters, digits and _, got ${JSON.stringify(feature)}`,
    );
  const pattern = new RegExp(`^${feature}(_[a-z0-9_]+)?$`);
  const wrong = names.find((name) => !pattern.test(name));
  if (wrong !== undefined)
    throw new StoreError(
      "INVALID",
      `the table ${wrong} of the feature ${feature} must be ${feature}, or start with ${feature}_ and have small letters, digits and _`,
    );
  const unknown = userColumns.find(([table]) => !names.includes(table));
  if (unknown !== undefined)
    throw new StoreError(
      "INVALID",
      `the user column ${unknown.join(".")} must be of a table of the feature ${feature}`,
    );
}

/** What gateway and worker have of a feature in common. */
export interface StoreFeature {
  /** Small letters, digits and `_`. */
  readonly name: string;
  readonly tables?: FeatureTables;
}

/** The part of the store for installed features. */
export interface Features {
  /**
   * Returns the names of the features in the database that are not among these, in order.
   * @throws StoreError with NOT_MIGRATED if the database doesn't have the tables of one of these
   */
  requireTables(features: readonly string[]): Promise<string[]>;
}

export function postgresFeatures(db: Db): Features {
  return {
    async requireTables(features) {
      const rows = await db.selectFrom("features").select("name").orderBy("name").execute();
      const installed = rows.map(({ name }) => name);
      const missing = features.find((name) => !installed.includes(name));
      if (missing !== undefined) throw new StoreError("NOT_MIGRATED", `feature ${missing}`);
      return installed.filter((name) => !features.includes(name));
    },
  };
}

/**
 * Compares the features of a process with those of the database when it starts. A process without one of them works, and
 * leaves its tasks to others.
 * @throws StoreError with NOT_MIGRATED
 */
export async function requireFeatures(
  { features: installed }: { readonly features: Features },
  features: readonly StoreFeature[],
  onError: ErrorHandler,
): Promise<void> {
  const withTables = features.flatMap(({ tables }) => tables?.feature ?? []);
  const unused = (await installed.requireTables(withTables)).filter((name) =>
    features.every((feature) => feature.name !== name),
  );
  for (const name of unused)
    onError(
      new Error(
        `The database has the feature ${name}, and this process doesn't. Its routes answer 404, and its tasks wait for a process that has it. If nobody needs it any more: turnstream migrate --remove ${name}.`,
      ),
      { during: "the comparison of features" },
    );
}
