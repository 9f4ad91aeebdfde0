/**
 * `migrate` creates and updates the tables that this version needs, in the schema of the connection, and those of the job
 * queue in `<schema>_jobs`. It creates the schemas if they are missing, and reads and writes nothing in other schemas.
 *
 * Invariant: any number of processes may call it concurrently, also on an empty database: each migration runs once, in a
 * transaction of its own. It never migrates down, and refuses a database with unknown migrations. A released migration
 * never changes: new ones are added at the end. No statement of others waits longer for it than `LOCK_TIMEOUT_MS` in
 * `migration-steps.ts`.
 */
import { sql } from "kysely";
import { poll } from "../../util/retry.ts";
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
import { dropQueueReferences, installJobQueue, jobSchema } from "./job-queue.ts";
import { isPooled } from "./open-database.ts";
import {
  buildIndex,
  type IndexBuild,
  inShortTransaction,
  retryOnLock,
  type StoreMigration,
} from "./migration-steps.ts";
import { logReached } from "./migrations/0028-log-reached.ts";
import { objects } from "./migrations/0030-objects.ts";
import { unarchivedOutbox } from "./migrations/0031-unarchived-outbox.ts";
import { eventBatches } from "./migrations/0032-event-batches.ts";
import { sharedRows } from "./migrations/0033-shared-rows.ts";
import { erasureClaims } from "./migrations/0034-erasure-claims.ts";
import { archivePeriods } from "./migrations/0035-archive-periods.ts";
import { foldVersions } from "./migrations/0047-fold-versions.ts";
import { historyLosses } from "./migrations/0048-history-losses.ts";
import { auditPeriods } from "./migrations/0049-audit-periods.ts";

const migrations: Readonly<Record<string, StoreMigration>> = {
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
  "0032-event-batches": eventBatches,
  "0033-shared-rows": sharedRows,
  "0034-erasure-claims": erasureClaims,
  "0035-archive-periods": archivePeriods,
  "0047-fold-versions": foldVersions,
  "0048-history-losses": historyLosses,
  "0049-audit-periods": auditPeriods,
};

/** A name of its own, because a database may have Kysely's tables of an app. */
const MIGRATION_TABLE = "migrations";

/** An arbitrary number that nothing else in the database uses for an advisory lock. */
const LOCK = 7_817_233_602;
const LOCK_POLL = { initialDelayMs: 100, maxDelayMs: 500 };

export interface MigrateOptions {
  /** Called with the name of each migration right before it runs. */
  readonly onMigration?: (name: string) => void;
}

/**
 * @returns the names of the migrations that this call ran
 * @throws StoreError with OUTDATED if the database has migrations that this version doesn't know, with DENIED if the role
 *   may not create a missing schema, and with BUSY if other transactions lock a table for minutes. Then the
 *   migrations before it are done: call it again.
 */
export async function migrate(db: Db, options: MigrateOptions = {}): Promise<string[]> {
  try {
    return await db
      .connection()
      .execute((connection) =>
        isPooled(db)
          ? migrateAlone(connection, options, "blocking")
          : withLock(connection, () => migrateAlone(connection, options, "concurrent")),
      );
  } catch (error) {
    throw toStoreError(error, "migrate");
  }
}

async function migrateAlone(db: Db, { onMigration }: MigrateOptions, indexes: IndexBuild): Promise<string[]> {
  const { unknown } = await readMigrations(db);
  if (unknown.length > 0) throw new StoreError("OUTDATED", `migration ${unknown.join(", ")}`);
  await requireSchemas(db);
  const schema = await readSchema(db);
  await inShortTransaction(db, (tx) => createLedger(tx, schema));
  await retryOnLock(() => installJobQueue(db));
  await inShortTransaction(db, dropQueueReferences);
  const ran: string[] = [];
  for (const name of (await readMigrations(db)).pending) {
    onMigration?.(name);
    if (await inShortTransaction(db, (tx) => runOnce(tx, name))) ran.push(name);
  }
  // Also those of earlier migrations, because a process may have died before it has built them.
  for (const { indexes: built = {} } of Object.values(migrations))
    for (const [name, definition] of Object.entries(built)) await buildIndex(db, name, definition, indexes);
  return ran;
}

/**
 * Runs work while no other process migrates, without timeouts. It polls for the lock: a statement that waits for it
 * would have a snapshot, and the other process waits for all snapshots when it builds an index.
 */
async function withLock<T>(connection: Db, work: () => Promise<T>): Promise<T> {
  const names = ["lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"];
  await sql`select set_config(name, '0', false) from unnest(${names}::text[]) name`.execute(connection);
  const tryLock = async (): Promise<boolean> => {
    const { rows } = await sql<{ isMine: boolean }>`select pg_try_advisory_lock(${LOCK}) as "isMine"`.execute(
      connection,
    );
    return rows[0]?.isMine === true;
  };
  try {
    await poll(tryLock, { ...LOCK_POLL, isDone: (isMine) => isMine });
    return await work();
  } finally {
    // All locks of this connection. If it is lost, so are they.
    await sql`select pg_advisory_unlock_all()`.execute(connection).catch(() => undefined);
    // To what the connection started with.
    for (const name of names) await sql`reset ${sql.id(name)}`.execute(connection).catch(() => undefined);
  }
}

/** Two processes behind a pooler can come here at the same time. One of them waits for the other's rows. */
async function runOnce(tx: Db, name: string): Promise<boolean> {
  const { rows } = await sql`insert into ${sql.table(MIGRATION_TABLE)} (name, timestamp)
    values (${name}, ${new Date().toISOString()}) on conflict do nothing returning name`.execute(tx);
  if (rows.length === 0) return false;
  await migrations[name]?.up(tx);
  return true;
}

async function createLedger(tx: Db, schema: string): Promise<void> {
  const { rows } = await sql<{ isThere: boolean }>`
    select exists (select from pg_namespace where nspname = ${schema}) as "isThere"`.execute(tx);
  // A role that may not create schemas can use one that its owner has created.
  if (rows[0]?.isThere !== true) await sql`create schema if not exists ${sql.id(schema)}`.execute(tx);
  await sql`create table if not exists ${sql.table(MIGRATION_TABLE)} (
    name varchar(255) primary key, timestamp varchar(255) not null)`.execute(tx);
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

/** @throws StoreError with the statements to run, if schemas are missing and the role may not create them */
async function requireSchemas(db: Db): Promise<void> {
  const schema = await readSchema(db);
  const { rows } = await sql<{ statement: string }>`
    select format('create schema %I authorization %I;', name, current_user) as statement
    from unnest(array[${schema}::text, ${jobSchema(schema)}::text]) name
    where not has_database_privilege(current_database(), 'create')
      and not exists (select from pg_namespace where nspname = name)`.execute(db);
  if (rows.length === 0) return;
  throw new StoreError("DENIED", rows.map(({ statement }) => statement).join(" "));
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
