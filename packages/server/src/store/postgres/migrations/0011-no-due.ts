/**
 * Migration 0011: whoever waits for a decision ends it in time; nobody looks for all that are due. Never edited once
 * released: add another.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const noDue: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("drop index interactions_due").execute(db);
  },
};
