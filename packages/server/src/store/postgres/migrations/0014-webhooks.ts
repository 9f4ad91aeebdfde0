/**
 * `webhooks` is migration 0014: webhook endpoints, deliveries to them, and an index of forms by their deadline.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. The primary
 * key makes a delivery unique per endpoint and event. Deliveries are erased with their session and their endpoint.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `create table webhook_endpoints (
    id text primary key,
    n bigint not null generated always as identity,
    tenant_id text not null references tenants on delete cascade,
    url text not null,
    secret text not null,
    events text[] not null,
    created_at timestamptz(3) not null default clock_timestamp()
  )`,
  `create index webhook_endpoints_of_tenant on webhook_endpoints (tenant_id, n)`,

  `create table webhook_deliveries (
    endpoint_id text not null references webhook_endpoints on delete cascade,
    id text not null,
    n bigint not null generated always as identity,
    tenant_id text not null,
    session_id text not null references sessions on delete cascade,
    type text not null,
    data json not null,
    state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
    attempts integer not null default 0,
    status integer,
    error text,
    claim text,
    created_at timestamptz(3) not null default clock_timestamp(),
    next_attempt_at timestamptz(3) not null default clock_timestamp(),
    ended_at timestamptz(3),
    primary key (endpoint_id, id)
  )`,
  `create index webhook_deliveries_in_order on webhook_deliveries (endpoint_id, n)`,
  `create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at, n)
    where state = 'pending'`,
  `create index webhook_deliveries_claimed on webhook_deliveries (endpoint_id) where claim is not null`,
  `create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null`,
  `create index webhook_deliveries_session on webhook_deliveries (session_id)`,

  `create index interactions_form_deadline on interactions (deadline, n)
    where kind = 'form' and status = 'pending' and deadline is not null`,
];

export const webhooks: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
