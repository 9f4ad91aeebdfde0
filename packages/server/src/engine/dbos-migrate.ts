/**
 * `migrateEngine` creates or updates the tables of the engine. Several processes can call it at once, also on an empty
 * database: a lock runs them one after the other. Does not start the engine and never downgrades.
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
/** For launches and migrations. We don't use the notifications of DBOS: ours use `signals`. */
export const LISTEN = false;

/** The key of the advisory lock: an arbitrary number that no other program in the database may use. */
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
      // Closing the connection releases the lock.
      held.release(true);
    }
  } catch (error) {
    throw new EngineError("UNAVAILABLE", "migrate the engine", error);
  } finally {
    await pool.end();
  }
}

/**
 * Polls for the lock instead of waiting in the database. DBOS builds indexes concurrently, and PostgreSQL waits for all
 * running statements before that. A statement that waits for this lock would block it.
 */
async function lock(client: pg.PoolClient): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ got: boolean }>("select pg_try_advisory_lock($1) as got", [LOCK]);
    if (rows[0]?.got === true) return;
    await sleep(RETRY_MS);
  }
}
