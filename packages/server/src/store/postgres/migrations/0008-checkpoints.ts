/**
 * Migration 0008: the state right before the newest archived turn started, in addition to the header of a session.
 * Don't change it after its release: add another migration.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const checkpoints: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table sessions add column checkpoint json").execute(db);
  },
};
