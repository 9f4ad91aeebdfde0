/**
 * Migration 0010: whether the text of a file is truncated. Don't change it after its release: add another migration.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const cutTexts: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table attachments add column is_cut boolean not null default false").execute(db);
  },
};
