/**
 * `cutTexts` is migration 0010: whether the text of a file is truncated.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. Existing
 * texts count as not truncated.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const cutTexts: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table attachments add column is_cut boolean not null default false").execute(db);
  },
};
