/**
 * Migration 0008: beside the header of a session, the state right before its newest archived turn began. Never edited once
 * released: add another.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const checkpoints: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table sessions add column checkpoint json").execute(db);
  },
};
