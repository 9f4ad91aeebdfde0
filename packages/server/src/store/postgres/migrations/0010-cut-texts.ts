/** Migration 0010: whether a file had more text than is kept. Never edited once released: add another. */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const cutTexts: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table attachments add column is_cut boolean not null default false").execute(db);
  },
};
