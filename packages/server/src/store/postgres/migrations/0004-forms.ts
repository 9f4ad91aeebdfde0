/**
 * Migration 0004: drafts of forms. Don't change it after its release: add another migration. As in migration 0001, JSON
 * is `json`, and rows are erased with their session.
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
