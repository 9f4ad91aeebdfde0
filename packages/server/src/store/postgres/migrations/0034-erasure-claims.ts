/**
 * `erasureClaims` is migration 0034: the worker that finishes an erasure, and whether its log was deleted once.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const erasureClaims: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table erasures add column claimed_until timestamptz(3),
      add column is_log_removed boolean not null default false`.execute(db);
  },
};
