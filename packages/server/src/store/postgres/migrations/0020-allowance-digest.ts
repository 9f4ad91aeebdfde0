/**
 * `allowanceDigest` is migration 0020: an allowance holds for one definition of its tool.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. The empty
 * digest of an older allowance equals no digest, so the next call of its tool needs an approval again.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const allowanceDigest: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table allowances add column digest text not null default ''`.execute(db);
  },
};
