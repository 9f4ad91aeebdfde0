/**
 * Migration 0013: how many attempts at a turn in a row journaled nothing. Never edited once released: add another.
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
