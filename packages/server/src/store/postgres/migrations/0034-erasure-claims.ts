/**
 * `erasureClaims` is migration 0034: the worker that finishes an erasure, whether its log was deleted once, and an index
 * of messages that can be pruned.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 */
import { type Kysely, sql } from "kysely";
import type { StoreMigration } from "../migration-steps.ts";

export const erasureClaims: StoreMigration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table erasures add column claimed_until timestamptz(3),
      add column is_log_removed boolean not null default false`.execute(db);
  },
  indexes: { waiting_taken: sql`on waiting_messages (added_at) where body is null` },
};
