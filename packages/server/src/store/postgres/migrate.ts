/**
 * `migrate` creates and updates the tables that this version needs, in the schema of the connection, and those of the job
 * queue in `<schema>_jobs`. It creates the schemas if they are missing, and reads and writes nothing in other schemas.
 *
 * Invariant: any number of processes may call it concurrently, also on an empty database: they run one after the other.
 * It never migrates down, and refuses a database with unknown migrations. A released migration never changes: new ones
 * are added at the end.
 */
import { sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { StoreError } from "../errors.ts";
import type { Db } from "./database.ts";
import { toStoreError } from "./errors.ts";
import { core } from "./migrations/0001-core.ts";
import { ledger } from "./migrations/0002-ledger.ts";
import { runtime } from "./migrations/0003-runtime.ts";
import { forms } from "./migrations/0004-forms.ts";
import { approvals } from "./migrations/0005-approvals.ts";
import { files } from "./migrations/0006-files.ts";
import { builtIn } from "./migrations/0007-built-in.ts";
import { checkpoints } from "./migrations/0008-checkpoints.ts";
import { gateway } from "./migrations/0009-gateway.ts";
import { cutTexts } from "./migrations/0010-cut-texts.ts";
import { noDue } from "./migrations/0011-no-due.ts";
import { blobNames } from "./migrations/0012-blob-names.ts";
import { attempts } from "./migrations/0013-attempts.ts";
import { webhooks } from "./migrations/0014-webhooks.ts";
import { shares } from "./migrations/0015-shares.ts";
import { agents } from "./migrations/0016-agents.ts";
import { operator } from "./migrations/0017-operator.ts";
import { auditKeys } from "./migrations/0018-audit-keys.ts";
import { allowanceDigest } from "./migrations/0020-allowance-digest.ts";
import { tenantSessionIds } from "./migrations/0021-tenant-session-ids.ts";
import { shareTokens } from "./migrations/0022-share-tokens.ts";
import { limits } from "./migrations/0024-limits.ts";
import { keyLimits } from "./migrations/0025-key-limits.ts";
import { jobs } from "./migrations/0026-jobs.ts";
import { installJobQueue } from "./job-queue.ts";
import { logReached } from "./migrations/0028-log-reached.ts";
import { objects } from "./migrations/0030-objects.ts";
import { unarchivedOutbox } from "./migrations/0031-unarchived-outbox.ts";
import { foldVersions } from "./migrations/0047-fold-versions.ts";
import { historyLosses } from "./migrations/0048-history-losses.ts";

const migrations: Readonly<Record<string, Migration>> = {
  "0001-core": core,
  "0002-ledger": ledger,
  "0003-runtime": runtime,
  "0004-forms": forms,
  "0005-approvals": approvals,
  "0006-files": files,
  "0007-built-in": builtIn,
  "0008-checkpoints": checkpoints,
  "0009-gateway": gateway,
  "0010-cut-texts": cutTexts,
  "0011-no-due": noDue,
  "0012-blob-names": blobNames,
  "0013-attempts": attempts,
  "0014-webhooks": webhooks,
  "0015-shares": shares,
  "0016-agents": agents,
  "0017-operator": operator,
  "0018-audit-keys": auditKeys,
  "0020-allowance-digest": allowanceDigest,
  "0021-tenant-session-ids": tenantSessionIds,
  "0022-share-tokens": shareTokens,
  "0024-limits": limits,
  "0025-key-limits": keyLimits,
  "0026-jobs": jobs,
  "0028-log-reached": logReached,
  "0030-objects": objects,
  "0031-unarchived-outbox": unarchivedOutbox,
  "0047-fold-versions": foldVersions,
  "0048-history-losses": historyLosses,
};

/** Names of its own, because a database may have Kysely's tables of an app. */
const MIGRATION_TABLE = "migrations";
const LOCK_TABLE = "migration_lock";

/** An arbitrary number that nothing else in the database uses for an advisory lock. */
const LOCK = 7_817_233_602;

export interface MigrateOptions {
  /** Called with the name of each migration right before it runs. They are committed together, after the last one. */
  readonly onMigration?: (name: string) => void;
}

/**
 * @returns the names of the migrations that this call ran
 * @throws StoreError with OUTDATED if the database has migrations that this version doesn't know.
 */
export async function migrate(db: Db, options: MigrateOptions = {}): Promise<string[]> {
  try {
    return await db.transaction().execute(async (tx) => {
      // No timeouts: waiting for other processes and filling a large table may take long.
      await sql`select set_config(name, '0', true) from unnest(
        array['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout']) name`.execute(tx);
      // Kysely's own lock is a row of a table that doesn't exist yet in an empty database.
      await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
      return await migrateAlone(tx, options);
    });
  } catch (error) {
    throw toStoreError(error, "migrate");
  }
}

async function migrateAlone(db: Db, { onMigration }: MigrateOptions): Promise<string[]> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => withProgress(onMigration) },
    migrationTableSchema: await readSchema(db),
    migrationTableName: MIGRATION_TABLE,
    migrationLockTableName: LOCK_TABLE,
  });
  const { unknown } = await readMigrations(db);
  if (unknown.length > 0) throw new StoreError("OUTDATED", `migration ${unknown.join(", ")}`);
  // In transactions of its own. It runs again if the migrations fail.
  await installJobQueue(db);
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) throw error instanceof Error ? error : new StoreError("INTERNAL", "migrate");
  return results.filter(({ status }) => status === "Success").map(({ migrationName }) => migrationName);
}

function withProgress(onMigration: MigrateOptions["onMigration"]): Record<string, Migration> {
  const announced = Object.entries(migrations).map(([name, migration]): [string, Migration] => [
    name,
    {
      async up(db) {
        onMigration?.(name);
        await migration.up(db);
      },
    },
  ]);
  return Object.fromEntries(announced);
}

export interface MigrationStatus {
  /** The migrations of this version that the database doesn't have yet. */
  readonly pending: readonly string[];
  /** Migrations of a newer version. */
  readonly unknown: readonly string[];
}

/** Changes nothing, and works on an empty database. */
export async function readMigrations(db: Db): Promise<MigrationStatus> {
  const ran = await ranBefore(db);
  return {
    pending: Object.keys(migrations).filter((name) => !ran.includes(name)),
    unknown: ran.filter((name) => !Object.hasOwn(migrations, name)),
  };
}

/** Returns the first schema of the connection's search path. It need not exist yet. */
async function readSchema(db: Db): Promise<string> {
  const { rows } = await sql<{ schema: string }>`
    select trim(split_part(current_setting('search_path'), ',', 1)) as schema`.execute(db);
  return rows[0]?.schema ?? "";
}

/** Returns the migrations that have run. Kysely alone would report an unknown one as a corrupted migration. */
async function ranBefore(db: Db): Promise<string[]> {
  const there = await sql<{ name: string | null }>`select to_regclass(${MIGRATION_TABLE}) as name`.execute(
    db,
  );
  if ((there.rows[0]?.name ?? null) === null) return [];
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(MIGRATION_TABLE)} order by name`.execute(db);
  return rows.map(({ name }) => name);
}
