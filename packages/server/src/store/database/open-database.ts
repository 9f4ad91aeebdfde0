/**
 * `openDatabase` opens the connection pool of the store, with its own parsers for numbers and times. It does not change
 * the parsers of other users of `pg` in the process, and does not migrate.
 *
 * Invariant: the store reads a bigint as a number and a time as milliseconds. Every connection has its schema, its
 * timeouts and READ COMMITTED from the start, because statements that wait for a row must see its current version.
 * Behind a pooler the role must have them: a connection without them is refused.
 */
import { type LogEvent, type PostgresPool, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { defined } from "../../util/defined.ts";
import { isDatabaseUrl } from "./database-url.ts";
import type { Db, Database } from "./database.ts";
import { takeTurns } from "./fair-pool.ts";
import { checked, type Settings } from "./pooler-settings.ts";

export interface PostgresOptions {
  /** With the parameter `pgbouncer=true` for a pooler in transaction mode, see docs/pooler.md. */
  readonly url: string;
  /** The PostgreSQL schema of all tables, so that they can share a database with those of an app. @default "turnstream" */
  readonly schema?: string;
  /** Maximum number of connections. Each transaction uses one, and tenants and their users take turns. @default 5 */
  readonly max?: number;
  /** Application name in pg_stat_activity. @default "turnstream" */
  readonly name?: string;
  /** 0 disables a timeout. */
  readonly timeouts?: Partial<PostgresTimeouts>;
  /** Called for every statement, for tests and measurements. Parameters contain content: don't log them. */
  readonly onQuery?: (event: LogEvent) => void;
}

interface PostgresTimeouts {
  /** How long to wait for a connection, new or from the pool. @default 5_000 */
  readonly connectMs: number;
  /** How long a statement may run. @default 30_000 */
  readonly statementMs: number;
  /** How long to wait for a row that another transaction has locked, before BUSY. @default 5_000 */
  readonly lockMs: number;
  /**
   * How long a transaction may be idle before the database ends it. Without it, a frozen process would lock its rows
   * for all others until the process ends.
   * @default 5_000
   */
  readonly idleInTransactionMs: number;
}

const TIMEOUTS: PostgresTimeouts = {
  connectMs: 5_000,
  statementMs: 30_000,
  lockMs: 5_000,
  idleInTransactionMs: 5_000,
};

export const DEFAULT_SCHEMA = "turnstream";

/** A name that PostgreSQL reads the same with and without quotes. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

const INT8 = 20;

const TIMESTAMPTZ = 1184;

const readTime = pg.types.getTypeParser(TIMESTAMPTZ) as (text: string) => Date;

/** Positions, sizes and counts are below 10^15, so a number represents them exactly. Any other value is a bug. */
function readInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new RangeError("a bigint of the database must fit into a safe integer");
  return value;
}

/**
 * Reads bigint as number and timestamptz as milliseconds since 1970. The columns have milliseconds, so no precision is
 * lost.
 */
export const types: pg.CustomTypesConfig = {
  getTypeParser: ((id: number, format?: "text" | "binary") => {
    if (format !== "binary" && id === INT8) return readInt8;
    if (format !== "binary" && id === TIMESTAMPTZ) return (text: string) => readTime(text).getTime();
    return pg.types.getTypeParser(id, format);
  }) as pg.CustomTypesConfig["getTypeParser"],
};

/** @throws TypeError if `url` is not a database URL, or `schema` not a name. */
export function openDatabase(options: PostgresOptions): Db {
  // Without this check the driver would use the environment's settings if the URL is missing.
  if (!isDatabaseUrl(options.url))
    throw new TypeError("`url` must be the address of a database, such as postgres://user@host/name.");
  const { schema = DEFAULT_SCHEMA } = options;
  if (!SCHEMA_NAME.test(schema))
    throw new TypeError("`schema` must have only small letters, digits and `_`, such as turnstream.");
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const max = options.max ?? 5;
  const settings = settingsOf(schema, timeouts);
  const isBehindPooler = /[?&]pgbouncer=true(&|$)/.test(options.url);
  const pool = new pg.Pool({
    ...(isBehindPooler ? { connectionString: options.url } : withOptions(options.url, settings)),
    max,
    application_name: options.name ?? "turnstream",
    connectionTimeoutMillis: timeouts.connectMs,
    keepAlive: true,
    types,
  });
  // Without a listener, an idle connection that the server closes would end the process. The pool replaces it.
  pool.on("error", () => undefined);
  // The pool only handles errors of idle connections. In a transaction, the next statement reports the error.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const { connectMs } = timeouts;
  const db = createDatabase(isBehindPooler ? checked(pool, settings) : pool, {
    max,
    connectMs,
    log: options.onQuery,
  });
  if (isBehindPooler) pooled.add(db);
  return db;
}

/**
 * Creates the query builder on a pool of connections.
 * @param options.max the connections of the pool
 * @param options.connectMs how long a caller waits for a connection
 */
export function createDatabase(
  pool: PostgresPool,
  options: { readonly max: number; readonly connectMs: number; readonly log?: PostgresOptions["onQuery"] },
): Db {
  const { max, connectMs, log } = options;
  return new Kysely<Database>({
    dialect: new PostgresDialect({ pool: takeTurns(pool, max, connectMs) }),
    ...defined({ log }),
  });
}

const pooled = new WeakSet<Db>();

/** True if consecutive statements can reach different connections of the server. */
export function isPooled(db: Db): boolean {
  return pooled.has(db);
}

/** The isolation level is fixed: statements that wait for a row must see its current version. */
function settingsOf(schema: string, timeouts: PostgresTimeouts): Settings {
  return {
    search_path: schema,
    statement_timeout: String(timeouts.statementMs),
    lock_timeout: String(timeouts.lockMs),
    idle_in_transaction_session_timeout: String(timeouts.idleInTransactionMs),
    default_transaction_isolation: "read committed",
  };
}

/** Sends the settings with the connection request, so that no connection is ever without them. */
function withOptions(url: string, settings: Settings) {
  const options = Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`)
    .join(" ");
  // The driver would use the URL's options instead of these. Put these first, so that the URL overrides only what it
  // sets.
  const connectionString = url.replace(/(?<=[?&]options=)/, encodeURIComponent(`${options} `));
  return { connectionString, options };
}
