/**
 * `unarchivedOutbox` is migration 0031: an index of published events that are not archived, by their age.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const unarchivedOutbox: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql
      .raw(
        `create index outbox_unarchived_by_age on outbox (delivered_at)
          where delivered_at is not null and archived_at is null`,
      )
      .execute(db);
  },
};
