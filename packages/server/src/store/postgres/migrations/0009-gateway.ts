/**
 * `gateway` is migration 0009: redeemed tickets and idempotent requests of the gateway.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. The primary
 * keys make a ticket and a request unique. As in migration 0001, JSON is `json`, and requests are erased with their
 * session.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `create table redeemed_tickets (
    tenant_id text not null references tenants on delete cascade,
    id text not null,
    expires_at timestamptz(3) not null,
    primary key (tenant_id, id)
  )`,
  `create index redeemed_tickets_expiry on redeemed_tickets (expires_at)`,

  `create table idempotency_keys (
    tenant_id text not null references tenants on delete cascade,
    user_id text not null,
    route text not null,
    key text not null,
    digest text not null,
    made_id text not null,
    claim text,
    claimed_until timestamptz(3) not null,
    status integer,
    body json,
    session_id text references sessions on delete cascade,
    begun_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, user_id, route, key)
  )`,
  `create index idempotency_keys_age on idempotency_keys (begun_at)`,
  `create index idempotency_keys_session on idempotency_keys (session_id) where session_id is not null`,
];

export const gateway: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
