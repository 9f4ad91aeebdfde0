/**
 * Opens the pool of connections that the store works on, with its own reading of numbers and times.
 * Never changes how other users of `pg` in the same process read theirs, and never migrates.
 */
import { Kysely, PostgresDialect, type LogEvent } from "kysely";
import pg from "pg";
import type { Db, Database } from "./database.ts";

export interface PostgresOptions {
  readonly url: string;
  /** Connections at most; each transaction holds one. */
  readonly max?: number;
  /** Shows up in pg_stat_activity. */
  readonly name?: string;
  /** Told of connections that broke while nobody used them; the pool replaces them by itself. */
  readonly onIdleError?: (error: Error) => void;
  /** Sees every statement, for tests and measuring. Parameters hold content: don't log them. */
  readonly onQuery?: (event: LogEvent) => void;
}

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

export function openDatabase(options: PostgresOptions): Db {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.max ?? 10,
    application_name: options.name ?? "turnstream",
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
