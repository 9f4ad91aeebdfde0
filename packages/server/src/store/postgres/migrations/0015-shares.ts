/**
 * `shares` is migration 0015: shares that expire, are listed by owner and deleted after their end, and how many turns a fork has copied.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. Processes
 * of the previous version insert rows without the new columns during a deploy, so the columns are optional. A share
 * that they create is in the list of its session, but not in the list of its owner.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `alter table sessions add column forked_turns bigint not null default 0`,
  `alter table shares
    add column expires_at timestamptz(3),
    add column owner_tenant text,
    add column owner text`,
  `update shares set owner_tenant = sessions.tenant_id, owner = sessions.user_id
    from sessions where sessions.id = shares.session_id`,
  `create index shares_of_owner on shares (owner_tenant, owner, created_at, id collate "C")
    where revoked_at is null`,
  `create index shares_by_end on shares (least(revoked_at, expires_at))
    where least(revoked_at, expires_at) is not null`,
];

export const shares: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
