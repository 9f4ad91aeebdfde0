/** Migration 0012: what a download of a blob is called. Never edited once released: add another. */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const blobNames: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table blobs add column name text").execute(db);
  },
};
