/**
 * `noDue` is migration 0011: it drops the index of due interactions. The turn that waits for a decision ends it at its
 * deadline, so no query searches for all due ones.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const noDue: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("drop index interactions_due").execute(db);
  },
};
