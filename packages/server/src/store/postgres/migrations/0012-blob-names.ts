/**
 * `blobNames` is migration 0012: file names for downloads of blobs.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. The name is
 * null for a blob without a file name.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const blobNames: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table blobs add column name text").execute(db);
  },
};
