/**
 * Brings a database to the tables that the engine works on. Any number of processes may do so at once, on an empty
 * database too: they go one after the other. Never starts the engine, and never goes back.
 */
import { ensureSystemDatabase } from "@dbos-inc/dbos-sdk/internal/system_database";
import { GlobalLogger } from "@dbos-inc/dbos-sdk/internal/telemetry/logs";
import pg from "pg";
import { sleep } from "../util/sleep.ts";
import { type EngineLog, loggerTo } from "./dbos-log.ts";
import { prefixIndex } from "./dbos-rows.ts";
import { EngineError } from "./errors.ts";

export interface MigrateEngineOptions {
  readonly schema?: string;
  readonly log?: EngineLog;
}

export const SCHEMA = "dbos";
/** For launching and migrating alike. Nobody waits for a notification of DBOS: ours go by `signals`. */
export const LISTEN = false;

/** Any number will do, as long as nobody else in the database uses it. */
const LOCK = 7_817_233_603;
const RETRY_MS = 50;

export async function migrateEngine(databaseUrl: string, options: MigrateEngineOptions = {}): Promise<void> {
  const { schema = SCHEMA, log } = options;
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  // Without a listener, a connection that the server closes would end the process.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  try {
    const held = await pool.connect();
    try {
      await lock(held);
      await ensureSystemDatabase(
        databaseUrl,
        new GlobalLogger(undefined, { logger: loggerTo(log) }),
        pool,
        schema,
        LISTEN,
      );
      await pool.query(prefixIndex(schema));
    } finally {
      // Closing the connection lets go of the lock.
      held.release(true);
    }
  } catch (error) {
    throw new EngineError("UNAVAILABLE", "migrate the engine", error);
  } finally {
    await pool.end();
  }
}

/**
 * Asks again and again instead of waiting in the database: DBOS builds indexes concurrently, which waits for every
 * statement that runs, and one that waits for this lock would be such a statement.
 */
async function lock(client: pg.PoolClient): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ got: boolean }>("select pg_try_advisory_lock($1) as got", [LOCK]);
    if (rows[0]?.got === true) return;
    await sleep(RETRY_MS);
  }
}
