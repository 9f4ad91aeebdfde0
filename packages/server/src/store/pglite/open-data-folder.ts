/**
 * `openDataFolder` opens a database in a folder, with PGlite: PostgreSQL inside this process, for development.
 * `readFolderSecret` reads the secret that it keeps, and `endAllLeases` ends the leases of the process that used the folder
 * before.
 *
 * Invariant: one process at a time opens a folder, because two would destroy its data. PGlite has one session, so the pool
 * has one connection: transactions run one after the other, and a caller inside a transaction must not wait for another
 * connection. PGlite has no timers, so statements have no timeouts.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { Db } from "../postgres/database.ts";
import { createDatabase, DEFAULT_SCHEMA, types } from "../postgres/open-database.ts";
import { clockPlus } from "../postgres/session-row.ts";
import { lockFolder } from "./lock-folder.ts";

/** How long a statement waits for the connection. A longer wait means that two callers wait for each other. */
const CONNECT_MS = 30_000;

/**
 * @returns null if the package of PGlite is not installed
 * @throws FolderInUse, or the error of PGlite if it can't read the folder
 */
export async function openDataFolder(folder: string): Promise<Db | null> {
  const pglite = await importPglite();
  if (pglite === null) return null;
  mkdirSync(folder, { recursive: true });
  // The folder contains what users wrote. Git ignores it, whatever the app's own rules are.
  writeFileSync(join(folder, ".gitignore"), "*\n");
  const release = lockFolder(join(folder, "pid"));
  try {
    const database = await pglite.PGlite.create(join(folder, "pglite"));
    await database.exec(
      `set search_path to ${DEFAULT_SCHEMA}; set default_transaction_isolation to 'read committed'`,
    );
    const options = { max: 1, idleTimeoutMillis: 0, types };
    const pool = new pg.Pool(Object.assign(pglite.createPgConfig(database), options));
    const connect = (): Promise<pg.PoolClient> => pool.connect();
    const end = async (): Promise<void> => {
      await pool.end();
      await database.close();
      release();
    };
    return createDatabase({ options: {}, connect, end }, { max: 1, connectMs: CONNECT_MS });
  } catch (error) {
    release();
    throw error;
  }
}

/** Returns the secret of the folder, so that pages that are open stay signed in after a restart. Creates it first. */
export function readFolderSecret(folder: string): string {
  const file = join(folder, "secret");
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString("hex"), { mode: 0o600 });
  return readFileSync(file, "utf8");
}

/** Lets this process continue the turns of the one that used the folder before, which is dead. */
export async function endAllLeases(db: Db): Promise<void> {
  await db
    .updateTable("leases")
    .set({ until: clockPlus(-1) })
    .where("taken_by", "is", null)
    .execute();
}

async function importPglite() {
  try {
    const [{ PGlite }, { createPgConfig }] = await Promise.all([
      import("@electric-sql/pglite"),
      import("@electric-sql/pglite/node-postgres"),
    ]);
    return { PGlite, createPgConfig };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    return null;
  }
}
