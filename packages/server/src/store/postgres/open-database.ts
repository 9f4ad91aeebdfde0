/**
 * Opens the pool of connections that the store works on, with its own reading of numbers and times.
 * Never changes how other users of `pg` in the same process read theirs, and never migrates.
 */
import { Kysely, PostgresDialect, type LogEvent } from "kysely";
import pg from "pg";
import { isDatabaseUrl } from "./database-url.ts";
import type { Db, Database } from "./database.ts";

export interface PostgresOptions {
  readonly url: string;
  /** Connections at most; each transaction holds one. */
  readonly max?: number;
  /** Shows up in pg_stat_activity. */
  readonly name?: string;
  /** 0 for none. */
  readonly timeouts?: Partial<PostgresTimeouts>;
  /** Asks now and then whether an idle connection is still there; true when absent. */
  readonly keepAlive?: boolean;
  /** Told of connections that broke while nobody used them; the pool replaces them by itself. */
  readonly onIdleError?: (error: Error) => void;
  /** Sees every statement, for tests and measuring. Parameters hold content: don't log them. */
  readonly onQuery?: (event: LogEvent) => void;
}

interface PostgresTimeouts {
  /** To get a connection: a new one, or a free one of the pool. 5 s when absent. */
  readonly connectMs: number;
  /** 30 s when absent. */
  readonly statementMs: number;
  /** To wait for a row that somebody else holds; then BUSY. 5 s when absent. */
  readonly lockMs: number;
  /**
   * How long a transaction may do nothing before the database ends it. Without, a process that is frozen in one
   * would keep everybody from the rows it holds, until somebody ends the process.
   * 5 s when absent.
   */
  readonly idleInTransactionMs: number;
}

const TIMEOUTS: PostgresTimeouts = {
  connectMs: 5_000,
  statementMs: 30_000,
  lockMs: 5_000,
  idleInTransactionMs: 5_000,
};

const INT8 = 20;
const TIMESTAMPTZ = 1184;
const readTime = pg.types.getTypeParser(TIMESTAMPTZ) as (text: string) => Date;

/** Positions, sizes and counts stay below 10^15, so a number holds them exactly; anything else is a bug. */
function readInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new RangeError("a bigint of the database is too large for a number");
  return value;
}

/** bigint as number, timestamptz as milliseconds since 1970. The columns keep milliseconds, so none is lost. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((id: number, format?: "text" | "binary") => {
    if (format !== "binary" && id === INT8) return readInt8;
    if (format !== "binary" && id === TIMESTAMPTZ) return (text: string) => readTime(text).getTime();
    return pg.types.getTypeParser(id, format);
  }) as pg.CustomTypesConfig["getTypeParser"],
};

/** @throws TypeError when `url` is no address of a database */
export function openDatabase(options: PostgresOptions): Db {
  // The driver would take whatever the environment says instead of an address that is missing.
  if (!isDatabaseUrl(options.url))
    throw new TypeError("`url` must be the address of a database, such as postgres://user@host/name.");
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const pool = new pg.Pool({
    ...settingsOf(options.url, timeouts),
    max: options.max ?? 10,
    application_name: options.name ?? "turnstream",
    connectionTimeoutMillis: timeouts.connectMs,
    keepAlive: options.keepAlive ?? true,
    types,
  });
  // Without a listener, a connection that the server closes would end the process.
  pool.on("error", (error) => options.onIdleError?.(error));
  // The pool listens only to idle ones. Who holds one in a transaction learns of it from the next statement.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    ...(options.onQuery === undefined ? {} : { log: options.onQuery }),
  });
}

/**
 * The settings go with the request for a connection, so that none is ever without them. The isolation isn't a choice:
 * statements that wait for a row rely on seeing it as it is then.
 */
function settingsOf(url: string, { statementMs, lockMs, idleInTransactionMs }: PostgresTimeouts) {
  const options = [
    `-c statement_timeout=${statementMs}`,
    `-c lock_timeout=${lockMs}`,
    `-c idle_in_transaction_session_timeout=${idleInTransactionMs}`,
    "-c default_transaction_isolation=read\\ committed",
  ].join(" ");
  // The driver would take what the URL says instead of these; behind them it wins where it says something else.
  const connectionString = url.replace(/(?<=[?&]options=)/, encodeURIComponent(`${options} `));
  return { connectionString, options };
}
