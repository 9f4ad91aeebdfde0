/**
 * `readDatabaseStatus` returns what an operator needs to know about a database: its version, its clock, and whether its
 * tables are those of this version. It changes nothing.
 *
 * Invariant: it works on an empty database. It throws only StoreErrors, which contain no address and no password.
 */
import { sql } from "kysely";
import { type Db, toStoreError, type MigrationStatus, readMigrations } from "@turnstream/server/internal";
import { measureClock } from "./measure-clock.ts";

export interface DatabaseStatus {
  /** Such as "16.4". */
  readonly version: string;
  /** How far its clock is ahead of the clock of this machine. */
  readonly clockAheadMs: number;
  readonly migrations: MigrationStatus;
}

/** @throws StoreError with UNAVAILABLE if the database can't be reached */
export async function readDatabaseStatus(db: Db, now: () => number = Date.now): Promise<DatabaseStatus> {
  try {
    // The first statement opens the connection. It must not count as a difference between the clocks.
    const { rows: versions } = await sql<{ version: string }>`
      select split_part(current_setting('server_version'), ' ', 1) as version`.execute(db);
    const clockAheadMs = await measureClock(async () => {
      const { rows } = await sql<{ at: number }>`select clock_timestamp() as at`.execute(db);
      return rows[0]?.at ?? 0;
    }, now);
    return {
      version: versions[0]?.version ?? "unknown",
      clockAheadMs,
      migrations: await readMigrations(db),
    };
  } catch (error) {
    throw toStoreError(error, "read the status of the database");
  }
}
