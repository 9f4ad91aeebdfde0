/**
 * `operator` is migration 0017: the indexes of the queries with which operators find turns.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. Each list
 * of an operator names a tenant and a limit, and reads its rows in the order of one of these indexes.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  // The unfinished turns, the oldest first: the ones that most likely hang.
  `create index running_by_age on running_turns (begun_at)`,
  `create index running_by_turn on running_turns (turn)`,
  // The newest sessions of a tenant, whichever user they belong to.
  `create index sessions_of_tenant on sessions (tenant_id, updated_at desc, id collate "C" desc)`,
];

export const operator: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
