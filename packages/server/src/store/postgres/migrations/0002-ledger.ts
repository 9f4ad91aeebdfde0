/**
 * `ledger` is migration 0002: keys, interactions, payments, usage, user numbers and the audit.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 * - Values written by a user or a payment provider are `json`, even a single text, because `text` refuses \u0000.
 * - `tenant_id` is in the row itself, so that one statement can check it without a join. It is copied from the session
 *   when the row is created and never changes.
 * - The audit references no other table. It outlives its sessions, users and tenant, and contains only ids and numbers.
 *   Triggers refuse every change except adding rows and moving the head by one.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `create table api_keys (
    id text primary key,
    tenant_id text not null references tenants on delete cascade,
    name text not null,
    scopes text[] not null,
    secret_hash bytea not null check (octet_length(secret_hash) = 32),
    created_at timestamptz(3) not null default clock_timestamp(),
    expires_at timestamptz(3),
    revoked_at timestamptz(3),
    last_used_at timestamptz(3)
  )`,
  `create index api_keys_of_tenant on api_keys (tenant_id, created_at, id)`,

  `create table interactions (
    session_id text not null references sessions on delete cascade,
    id text not null,
    n bigint not null generated always as identity,
    tenant_id text not null,
    kind text not null check (kind in ('approval', 'question', 'form', 'payment')),
    key text not null,
    turn_id text not null,
    run_id text not null,
    block_id text not null,
    item_index bigint not null,
    call_id text,
    request json not null,
    digest text,
    deadline timestamptz(3),
    status text not null default 'pending',
    version bigint not null default 0,
    requested_at timestamptz(3) not null default clock_timestamp(),
    changed_at timestamptz(3),
    primary key (session_id, id),
    unique (session_id, key)
  )`,
  `create index interactions_in_order on interactions (session_id, n)`,
  `create index interactions_pending on interactions (session_id, n) where status in ('pending', 'processing')`,
  // Without payments: they expire by payments_to_check.
  `create index interactions_due on interactions (deadline, n)
    where status = 'pending' and kind <> 'payment' and deadline is not null`,

  `create table interaction_changes (
    session_id text not null,
    interaction_id text not null,
    version bigint not null check (version > 0),
    status text not null,
    by_user text,
    reason json,
    body json not null,
    at timestamptz(3) not null,
    primary key (session_id, interaction_id, version),
    foreign key (session_id, interaction_id) references interactions on delete cascade
  )`,
  // For erasing a user's id from their decisions.
  `create index interaction_changes_by_user on interaction_changes (by_user) where by_user is not null`,

  // A payment has the id of its interaction. A provider's notification names only the order, and a visitor of the
  // checkout page has only the token.
  `create table payments (
    session_id text not null references sessions on delete cascade,
    id text not null,
    n bigint not null generated always as identity,
    tenant_id text not null,
    order_no text not null unique,
    token_hash text not null unique,
    amount bigint not null check (amount > 0),
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    provider text not null,
    provider_ref text,
    description json not null,
    locale text not null,
    continues boolean not null,
    agent text,
    mode text,
    status text not null default 'pending',
    refunded_amount bigint not null default 0 check (refunded_amount between 0 and amount),
    created_at timestamptz(3) not null default clock_timestamp(),
    changed_at timestamptz(3),
    expires_at timestamptz(3) not null,
    check_ms bigint not null,
    next_check_at timestamptz(3),
    queried_at timestamptz(3),
    flag text,
    flagged_at timestamptz(3),
    flag_resolved_at timestamptz(3),
    flag_resolved_by text,
    flag_note json,
    primary key (session_id, id),
    unique (tenant_id, id),
    foreign key (session_id, id) references interactions on delete cascade
  )`,
  `create index payments_in_order on payments (session_id, n)`,
  `create index payments_to_check on payments (next_check_at, n) where next_check_at is not null`,
  `create index payments_flagged on payments (tenant_id, n) where flag is not null and flag_resolved_at is null`,

  `create table payment_changes (
    session_id text not null,
    payment_id text not null,
    n bigint not null check (n > 0),
    actor text not null check (actor in ('user', 'provider', 'server')),
    by_user text,
    input text not null,
    outcome text not null check (outcome in ('changed', 'mismatch', 'flagged', 'refunded')),
    from_status text not null,
    to_status text not null,
    at timestamptz(3) not null,
    evidence_hash text,
    provider text,
    event text,
    paid_amount bigint,
    paid_currency text,
    provider_ref text,
    reason json,
    primary key (session_id, payment_id, n),
    foreign key (session_id, payment_id) references payments on delete cascade
  )`,
  // A provider's report counts once.
  `create unique index payment_changes_of_event on payment_changes (session_id, payment_id, provider, event)
    where event is not null`,
  // For erasing a user's id.
  `create index payment_changes_by_user on payment_changes (by_user) where by_user is not null`,

  `create table usage_days (
    tenant_id text not null references tenants on delete cascade,
    day text not null check (day ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'),
    model text collate "C" not null,
    turns bigint not null,
    calls bigint not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    total_tokens bigint not null,
    primary key (tenant_id, day, model)
  ) with (fillfactor = 70)`,
  `create table usage_marks (
    tenant_id text not null references tenants on delete cascade,
    key text not null,
    marked_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, key)
  )`,
  `create index usage_marks_by_age on usage_marks (marked_at)`,

  `create table people (
    number bigint primary key generated always as identity,
    tenant_id text not null references tenants on delete cascade,
    user_id text not null,
    unique (tenant_id, user_id)
  )`,

  // Subject and detail are exactly the hashed text, and `at` exactly the hashed number.
  `create table audit_log (
    tenant_id text not null,
    n bigint not null check (n > 0),
    at bigint not null,
    actor bigint,
    action text not null,
    subject text not null,
    detail text not null,
    prev_hash text not null,
    hash text not null,
    primary key (tenant_id, n)
  )`,
  `create table audit_heads (
    tenant_id text primary key,
    n bigint not null,
    hash text not null
  )`,
  `create function audit_is_append_only() returns trigger language plpgsql as $$
  begin
    raise exception 'the audit can only be added to' using errcode = 'insufficient_privilege';
  end $$`,
  `create function audit_head_moves_by_one() returns trigger language plpgsql as $$
  begin
    if new.tenant_id <> old.tenant_id or new.n <> old.n + 1 then
      raise exception 'the head of the audit moves by one' using errcode = 'insufficient_privilege';
    end if;
    return new;
  end $$`,
  `create trigger audit_log_rows before update or delete on audit_log
    for each row execute function audit_is_append_only()`,
  `create trigger audit_log_all before truncate on audit_log
    for each statement execute function audit_is_append_only()`,
  `create trigger audit_heads_update before update on audit_heads
    for each row execute function audit_head_moves_by_one()`,
  `create trigger audit_heads_delete before delete on audit_heads
    for each row execute function audit_is_append_only()`,
  `create trigger audit_heads_all before truncate on audit_heads
    for each statement execute function audit_is_append_only()`,
];

export const ledger: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
