/**
 * `forms` is migration 0004: drafts of forms.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. An
 * interaction has at most one draft. As in migration 0001, JSON is `json`, and rows are erased with their session.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `create table form_drafts (
    session_id text not null,
    interaction_id text not null,
    body json not null,
    version integer not null,
    saved_at timestamptz(3) not null,
    primary key (session_id, interaction_id),
    foreign key (session_id, interaction_id) references interactions (session_id, id) on delete cascade
  )`,
];

export const forms: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
