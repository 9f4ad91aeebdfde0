/**
 * `checkpoints` is migration 0008: the state right before the newest archived turn started, in addition to the header
 * of a session.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. The column
 * is null for a session that stored no checkpoint yet.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const checkpoints: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table sessions add column checkpoint json").execute(db);
  },
};
