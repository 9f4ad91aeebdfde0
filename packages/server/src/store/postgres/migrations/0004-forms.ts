/**
 * Migration 0004: what people have filled in so far. Never edited once released: add another. As in 0001, JSON is `json`
 * and everything of a session goes with it.
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
