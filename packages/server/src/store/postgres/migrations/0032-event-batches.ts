/**
 * `eventBatches` is migration 0032: a row of `archived_events` has the events of a batch, and a row of `turns` only what
 * the events of the turn don't have.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. A snapshot
 * that is not null is the whole turn.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `alter table archived_events
    drop column first_seq, drop column epoch, drop column turn_id, drop column type, drop column at,
    alter column event type json using json_build_array(event)`,
  `alter table archived_events rename column event to events`,
  `alter table turns add column message json, alter column snapshot drop not null`,
];

export const eventBatches: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
