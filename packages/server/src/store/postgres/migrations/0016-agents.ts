/**
 * `agents` is migration 0016: the agents that workers have registered.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. Agents
 * belong to no tenant and no session, so no erasure removes them.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const agents: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw(
        `create table agents (
          name text primary key,
          label text not null,
          description text not null,
          inputs text[] not null,
          registered_at timestamptz(3) not null default clock_timestamp()
        )`,
      )
      .execute(db);
  },
};
