/**
 * Migration 0013: how many consecutive attempts at a turn wrote nothing to the journal. Don't change it after its
 * release: add another migration.
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
