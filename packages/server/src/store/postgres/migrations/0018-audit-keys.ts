/**
 * `auditKeys` is migration 0018: the id of the key with which the hash of an audit row was made.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. Rows without
 * a key id have a hash without a key, as all rows before this migration.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [`alter table audit_log add column key_id text`];

export const auditKeys: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
