/**
 * `logReached` is migration 0028: when an executor that renewed its lease could last reach the log.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const logReached: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(`alter table leases add column log_reached_at timestamptz`).execute(db);
  },
};
