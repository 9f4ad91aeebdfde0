/**
 * `foldVersions` is migration 0047: the schema version that folded each archived turn.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Turns from before it get -1, so
 * that readers fold their events again.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const foldVersions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(`alter table turns add column v integer not null default -1`).execute(db);
    await sql.raw(`alter table turns alter column v drop default`).execute(db);
  },
};
