/**
 * `historyLosses` is migration 0048: the position after which a session has lost history.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const historyLosses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(`alter table sessions add column lost_after bigint`).execute(db);
  },
};
