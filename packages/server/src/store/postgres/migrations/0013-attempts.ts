/**
 * `attempts` is migration 0013: how many consecutive attempts at a turn wrote nothing to the journal.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. The
 * defaults must be valid for turns that are running during the migration.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const attempts: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw(
        `alter table running_turns
          add column fruitless integer not null default 0,
          add column journaled bigint not null default 0`,
      )
      .execute(db);
  },
};
