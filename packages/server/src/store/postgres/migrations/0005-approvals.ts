/**
 * `approvals` is migration 0005: schemas of edited arguments, and allowances for the rest of a session.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. A tool of
 * an agent has at most one allowance per session. Rows are erased with their session.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  // Separate from the request, which is read far more often than it is edited.
  `create table interaction_schemas (
    session_id text not null,
    interaction_id text not null,
    schema json not null,
    primary key (session_id, interaction_id),
    foreign key (session_id, interaction_id) references interactions on delete cascade
  )`,

  `create table allowances (
    session_id text not null references sessions on delete cascade,
    tenant_id text not null,
    n bigint not null generated always as identity,
    agent text not null,
    tool text not null,
    by_user text,
    given_at timestamptz(3) not null default clock_timestamp(),
    primary key (session_id, agent, tool)
  )`,
  // For erasing a user's id from their allowances.
  `create index allowances_by_user on allowances (by_user) where by_user is not null`,
];

export const approvals: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
