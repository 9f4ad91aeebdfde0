/** Migration 0012: file names for downloads of blobs. Don't change it after its release: add another migration. */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const blobNames: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table blobs add column name text").execute(db);
  },
};
