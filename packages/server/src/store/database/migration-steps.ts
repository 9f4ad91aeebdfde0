/**
 * `inShortTransaction` and `buildIndex` run the steps of migrations beside processes that use the tables.
 *
 * Invariant: a step waits at most `LOCK_TIMEOUT_MS` for a table, because every later statement on that table waits behind
 * it. Then it gives way and tries again, a bounded number of times. An index of a table that may be large is built
 * concurrently, so that its table can be written meanwhile.
 */
import { type RawBuilder, sql } from "kysely";
import { retry } from "../../util/retry.ts";
import type { Db } from "./database.ts";
import { sqlStateOf } from "./errors.ts";

export interface StoreMigration {
  /** Its name in the ledger, such as `0002-reactions`. */
  readonly name: string;
  readonly up: (tx: Db) => Promise<void>;
  /**
   * Indexes of existing tables, which may be large, by name, such as `on outbox (delivered_at)`. A later migration that drops one
   * of them removes it here.
   */
  readonly indexes?: Readonly<Record<string, IndexDefinition>>;
}

type IndexDefinition = RawBuilder<unknown>;

/** A pooler in transaction mode offers no connection on which to build an index concurrently without a timeout. */
export type IndexBuild = "concurrent" | "blocking";

const LOCK_TIMEOUT_MS = 2_000;

/** For atomic work that gives way to other transactions, up to five minutes. */
const RETRIES = { maxAttempts: 80, initialDelayMs: 500, maxDelayMs: 3_000, isRetryable: hasGivenWay };

const LOCK_NOT_AVAILABLE = "55P03";

const DEADLOCK = "40P01";

function hasGivenWay(error: unknown): boolean {
  return [LOCK_NOT_AVAILABLE, DEADLOCK].includes(sqlStateOf(error) ?? "");
}

export function inShortTransaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  const run = (): Promise<T> =>
    db.transaction().execute(async (tx) => {
      // Filling a large table may take long; waiting for it may not.
      await sql`select set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, true),
        set_config('statement_timeout', '0', true),
        set_config('idle_in_transaction_session_timeout', '0', true)`.execute(tx);
      return work(tx);
    });
  return retry(run, RETRIES);
}

/** Builds an index that is missing, or that an interrupted process has left invalid. */
export async function buildIndex(
  db: Db,
  name: string,
  definition: IndexDefinition,
  how: IndexBuild,
): Promise<void> {
  const { rows } = await sql<{ isValid: boolean }>`
    select indisvalid as "isValid" from pg_index where indexrelid = to_regclass(${name})`.execute(db);
  const [found] = rows;
  if (found?.isValid === true) return;
  if (how === "blocking") {
    await inShortTransaction(db, async (tx) => {
      await sql`drop index if exists ${sql.id(name)}`.execute(tx);
      await sql`create index ${sql.id(name)} ${definition}`.execute(tx);
    });
    return;
  }
  const build = async (): Promise<void> => {
    await sql`drop index concurrently if exists ${sql.id(name)}`.execute(db);
    await sql`create index concurrently ${sql.id(name)} ${definition}`.execute(db);
  };
  await retry(build, RETRIES);
}
