/**
 * `migrate` creates and updates the tables that this version needs, in the schema of the connection. It creates the schema
 * if it is missing, and reads and writes nothing in other schemas.
 *
 * Invariant: any number of processes may call it concurrently, also on an empty database: each migration runs once, in a
 * transaction of its own. It never migrates down, and refuses a database with unknown migrations. Until the first
 * release, changes are made in the baseline, and a database of another baseline is refused. From then on a migration
 * never changes: new ones are added at the end. No statement of others waits longer for it than `LOCK_TIMEOUT_MS` in
 * `migration-steps.ts`.
 */
import { sql } from "kysely";
import { poll } from "../../util/retry.ts";
import type { Db } from "./database.ts";
import { toStoreError } from "./errors.ts";
import { checkFeatureTables, type FeatureTables } from "../features.ts";
import { type StoreMigration, type IndexBuild, inShortTransaction, buildIndex } from "./migration-steps.ts";
import { baseline } from "./migrations/0001-baseline.ts";
import { isPooled } from "./open-database.ts";
import { requireErasable } from "./require-erasable.ts";
import { StoreError } from "../errors.ts";

/** The migrations after the baseline, in order. */
const LATER: readonly StoreMigration[] = [];

/** A name of its own, because a database may have Kysely's tables of an app. */
const MIGRATION_TABLE = "migrations";

/** An arbitrary number that nothing else in the database uses for an advisory lock. */
const LOCK = 7_817_233_602;

const LOCK_POLL = { initialDelayMs: 100, maxDelayMs: 500 };

export interface MigrateOptions {
  /** The tables of the features that the processes have. @default none */
  readonly features?: readonly FeatureTables[];
  /** Called with the name of each migration right before it runs. */
  readonly onMigration?: (name: string) => void;
}

/**
 * @returns the names of the migrations that this call ran
 * @throws StoreError with OTHER_BASELINE if an unreleased version created the tables, with OUTDATED if the database has
 *   migrations that this version doesn't know, with INVALID if tables of a feature have other names or would be missed by
 *   an erasure, with DENIED if the role may not create a missing schema, and with BUSY if other transactions lock a table
 *   for minutes. Then the migrations before it are done: call it again.
 */
export async function migrate(db: Db, options: MigrateOptions = {}): Promise<string[]> {
  for (const tables of options.features ?? []) checkFeatureTables(tables);
  return runMigrations(db, LATER, options);
}

/** Migrations that follow each other: those of the server, or those of a feature. */
interface Series {
  /** The name of the feature; null for the server. */
  readonly feature: string | null;
  readonly migrations: readonly [StoreMigration, ...StoreMigration[]];
  /** Part of the commit of the last migration, so that tables which it refuses leave nothing. Idempotent. */
  readonly finish?: (tx: Db) => Promise<void>;
}

/** Runs the baseline and then `later`, and then the migrations of each feature. */
export async function runMigrations(
  db: Db,
  later: readonly StoreMigration[],
  options: MigrateOptions = {},
): Promise<string[]> {
  const { features = [] } = options;
  const run = async (connection: Db, indexes: IndexBuild): Promise<string[]> => {
    const ran = await migrateAlone(
      connection,
      { feature: null, migrations: [baseline, ...later] },
      options,
      indexes,
    );
    for (const tables of features) {
      const finish = async (tx: Db): Promise<void> => {
        await requireErasable(tx, tables);
        await listFeature(tx, tables);
      };
      ran.push(...(await migrateAlone(connection, { ...tables, finish }, options, indexes)));
    }
    return ran;
  };
  try {
    return await db
      .connection()
      .execute((connection) =>
        isPooled(db)
          ? run(connection, "blocking")
          : withLock(connection, () => run(connection, "concurrent")),
      );
  } catch (error) {
    throw toStoreError(error, "migrate");
  }
}

async function migrateAlone(
  db: Db,
  series: Series,
  { onMigration }: MigrateOptions,
  indexes: IndexBuild,
): Promise<string[]> {
  const { feature, migrations, finish } = series;
  const schema = await readSchema(db);
  const { otherBaseline, pending, unknown } = await compareMigrations(db, series);
  if (otherBaseline !== null) throw wrongBaseline(schema, feature);
  if (unknown.length > 0) throw new StoreError("OUTDATED", `migration ${unknown.join(", ")}`);
  if (pending.length > 0) {
    await requireSchema(db, schema);
    await inShortTransaction(db, (tx) => createLedger(tx, schema));
  }
  const ran: string[] = [];
  for (const migration of migrations) {
    const name = nameIn(series, migration);
    if (!pending.includes(name)) continue;
    onMigration?.(name);
    const work = async (tx: Db): Promise<boolean> => {
      const isFirst = await runOnce(tx, name, migration);
      if (name === pending.at(-1)) await finish?.(tx);
      return isFirst;
    };
    if (await inShortTransaction(db, work)) ran.push(name);
  }
  if (pending.length === 0) await finish?.(db);
  // Also those of earlier migrations, because a process may have died before it has built them.
  for (const { indexes: built = {} } of migrations)
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
async function runOnce(tx: Db, name: string, migration: StoreMigration): Promise<boolean> {
  const { rows } = await sql`insert into ${sql.table(MIGRATION_TABLE)} (name)
    values (${name}) on conflict do nothing returning name`.execute(tx);
  if (rows.length === 0) return false;
  await migration.up(tx);
  return true;
}

/** The name of a migration in the ledger. */
function nameIn({ feature }: Series, { name }: StoreMigration): string {
  return feature === null ? name : `${feature}/${name}`;
}

/** So an operator can remove it, and an erasure finds its user ids, where no process has it. */
async function listFeature(db: Db, { feature, names, userColumns = [] }: FeatureTables): Promise<void> {
  const remove = names.map((name) => `drop table if exists ${name} cascade`);
  const columns = userColumns.map((column) => column.join("."));
  await sql`insert into features (name, remove, user_columns) values (${feature}, ${remove}::text[], ${columns}::text[])
    on conflict (name) do update set remove = excluded.remove, user_columns = excluded.user_columns
    where (features.remove, features.user_columns) is distinct from (excluded.remove, excluded.user_columns)`.execute(
    db,
  );
}

/**
 * Deletes the tables of a feature with all their rows. Processes that still have it can't use it from then on.
 * @returns false if the database doesn't have the feature
 * @throws StoreError
 */
export async function removeFeature(db: Db, feature: string): Promise<boolean> {
  try {
    return await inShortTransaction(db, async (tx) => {
      const row = await tx
        .deleteFrom("features")
        .where("name", "=", feature)
        .returning("remove")
        .executeTakeFirst();
      for (const statement of row?.remove ?? []) await sql.raw(statement).execute(tx);
      await sql`delete from ${sql.table(MIGRATION_TABLE)} where starts_with(name, ${`${feature}/`})`.execute(
        tx,
      );
      return row !== undefined;
    });
  } catch (error) {
    throw toStoreError(error, "remove a feature");
  }
}

async function createLedger(tx: Db, schema: string): Promise<void> {
  const { rows } = await sql<{ isThere: boolean }>`
    select exists (select from pg_namespace where nspname = ${schema}) as "isThere"`.execute(tx);
  // A role that may not create schemas can use one that its owner has created.
  if (rows[0]?.isThere !== true) await sql`create schema if not exists ${sql.id(schema)}`.execute(tx);
  await sql`create table if not exists ${sql.table(MIGRATION_TABLE)} (
    name text primary key, ran_at timestamptz(3) not null default clock_timestamp())`.execute(tx);
}

export interface MigrationStatus {
  /** The baseline of the database, if it is not the one of this version. Then `pending` and `unknown` are empty. */
  readonly otherBaseline: string | null;
  /** The migrations of this version that the database doesn't have yet. */
  readonly pending: readonly string[];
  /** Migrations of a newer version. */
  readonly unknown: readonly string[];
}

/** Changes nothing, and works on an empty database. */
export function readMigrations(db: Db): Promise<MigrationStatus> {
  return compareMigrations(db, { feature: null, migrations: [baseline, ...LATER] });
}

async function compareMigrations(db: Db, series: Series): Promise<MigrationStatus> {
  const ran = await ranBefore(db, series);
  const names = series.migrations.map((migration) => nameIn(series, migration));
  const otherBaseline = ran.includes(names[0] ?? "") ? null : (ran[0] ?? null);
  if (otherBaseline !== null) return { otherBaseline, pending: [], unknown: [] };
  return {
    otherBaseline,
    pending: names.filter((name) => !ran.includes(name)),
    unknown: ran.filter((name) => !names.includes(name)),
  };
}

/**
 * Refuses tables of another baseline, for processes that don't migrate. A missing table is reported when it is used.
 * @throws StoreError with OTHER_BASELINE
 */
export async function requireBaseline(db: Db): Promise<void> {
  try {
    if ((await readMigrations(db)).otherBaseline !== null) throw wrongBaseline(await readSchema(db));
  } catch (error) {
    throw toStoreError(error, "read the migrations");
  }
}

function wrongBaseline(schema: string, feature: string | null = null): StoreError {
  const what =
    feature === null
      ? ""
      : `, tables of the feature ${feature}, which \`turnstream migrate --remove ${feature}\` deletes`;
  return new StoreError("OTHER_BASELINE", `the schema ${schema}${what}`);
}

/** Returns the first schema of the connection's search path. It need not exist yet. */
async function readSchema(db: Db): Promise<string> {
  const { rows } = await sql<{ schema: string }>`
    select trim(split_part(current_setting('search_path'), ',', 1)) as schema`.execute(db);
  return rows[0]?.schema ?? "";
}

/** @throws StoreError with the statement to run, if the schema is missing and the role may not create it */
async function requireSchema(db: Db, schema: string): Promise<void> {
  const { rows } = await sql<{ statement: string }>`
    select format('create schema %I authorization %I;', ${schema}::text, current_user) as statement
    where not has_database_privilege(current_database(), 'create')
      and not exists (select from pg_namespace where nspname = ${schema})`.execute(db);
  const [missing] = rows;
  if (missing !== undefined) throw new StoreError("DENIED", missing.statement);
}

/** Returns the migrations of the series that have run, in their order. */
async function ranBefore(db: Db, { feature }: Series): Promise<string[]> {
  const there = await sql<{ name: string | null }>`select to_regclass(${MIGRATION_TABLE}) as name`.execute(
    db,
  );
  if ((there.rows[0]?.name ?? null) === null) return [];
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(MIGRATION_TABLE)} order by name`.execute(db);
  const names = rows.map(({ name }) => name);
  return names.filter((name) => (feature === null ? !name.includes("/") : name.startsWith(`${feature}/`)));
}
