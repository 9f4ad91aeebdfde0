/**
 * `unarchivedOutbox` is migration 0031: an index of published events that are not archived, by their age.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 */
import { sql } from "kysely";
import type { StoreMigration } from "../migration-steps.ts";

export const unarchivedOutbox: StoreMigration = {
  up: async () => undefined,
  indexes: {
    outbox_unarchived_by_age: sql`on outbox (delivered_at)
      where delivered_at is not null and archived_at is null`,
  },
};
