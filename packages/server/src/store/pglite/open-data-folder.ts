/**
 * `openDataFolder` opens a database in a folder, with `@turnstream/dev`: PostgreSQL inside this process, for development.
 * `endAllLeases` and `createPeriods` prepare the database for turns.
 *
 * Invariant: the folder is opened once at a time, because two would destroy its data. PGlite has one session, so the pool
 * has one connection: transactions run one after the other, and a caller inside a transaction must not wait for another
 * connection. PGlite has no timers, so statements have no timeouts.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DevDatabase } from "@turnstream/dev";
import { sql } from "kysely";
import pg from "pg";
import type { Db } from "../database/database.ts";
import { baseline } from "../database/migrations/0001-baseline.ts";
import { createDatabase, DEFAULT_SCHEMA, types } from "../database/open-database.ts";
import { clockPlus } from "../database/session-row.ts";
import { lockFolder } from "./lock-folder.ts";

/** How long a statement waits for the connection. A longer wait means that two callers wait for each other. */
const CONNECT_MS = 30_000;
const PACKAGE = "@turnstream/dev";

/** `@turnstream/dev` is not installed. */
export class DevPackageMissing extends Error {
  constructor(cause: unknown) {
    super(`${PACKAGE} is not installed`, { cause });
    this.name = "DevPackageMissing";
  }
}

/**
 * @param folder an existing folder
 * @throws DevPackageMissing, FolderInUse, or the error of PGlite if it can't read the folder
 */
export async function openDataFolder(folder: string): Promise<Db> {
  const { openDevDatabase } = await importDevPackage();
  // The folder contains what users wrote. Git ignores it, whatever the app's own rules are.
  writeFileSync(join(folder, ".gitignore"), "*\n");
  const release = lockFolder(join(folder, "pid"));
  try {
    return await connectDevDatabase(await openDevDatabase(folder, baseline.name), release);
  } catch (error) {
    release();
    throw error;
  }
}

/** @param onEnd called when the database is closed */
export async function connectDevDatabase(
  { pglite, pgConfig }: DevDatabase,
  onEnd: () => void = () => undefined,
): Promise<Db> {
  await pglite.exec(
    `set search_path to ${DEFAULT_SCHEMA}; set default_transaction_isolation to 'read committed'`,
  );
  const pool = new pg.Pool(Object.assign(pgConfig, { max: 1, idleTimeoutMillis: 0, types }));
  const connect = (): Promise<pg.PoolClient> => pool.connect();
  const end = async (): Promise<void> => {
    await pool.end();
    await pglite.close();
    onEnd();
  };
  return createDatabase({ options: {}, connect, end }, { max: 1, connectMs: CONNECT_MS });
}

/** Lets this process continue the turns of the one that used the folder before, which is dead. */
export async function endAllLeases(db: Db): Promise<void> {
  await db
    .updateTable("leases")
    .set({ until: clockPlus(-1) })
    .where("taken_by", "is", null)
    .execute();
}

/** Creates the partitions of today, which a dump or a folder of last month lacks. */
export async function createPeriods(db: Db): Promise<void> {
  await sql`select create_archive_periods(), create_audit_periods()`.execute(db);
}

/** @throws DevPackageMissing */
export async function importDevPackage() {
  try {
    return await import("@turnstream/dev");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_MODULE_NOT_FOUND" && message.includes(PACKAGE)) throw new DevPackageMissing(error);
    throw error;
  }
}
