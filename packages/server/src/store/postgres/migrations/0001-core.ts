/**
 * `core` is migration 0001: tenants, sessions and the tables of a session.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 * - Every table of a session references it with ON DELETE CASCADE, so erasing a session is one DELETE.
 * - Events, drafts, snapshots and messages are `json`, not `jsonb`. `jsonb` refuses \u0000 and lone surrogates, which
 *   models and tools produce, and it reorders keys. No query searches inside them.
 * - Pages order ids by collate "C", so that every database sorts them alike. Only the indexes have this collation. A
 *   column with another collation than the one it references would prevent joins and cascades from using an index.
 * - Times have milliseconds, so that a value read by JavaScript can be compared again (pages).
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `create table tenants (
    id text primary key,
    name text not null,
    created_at timestamptz(3) not null default clock_timestamp()
  )`,

  // Archiving updates the row often. Free space on the page keeps these updates out of the indexes.
  `create table sessions (
    id text primary key,
    tenant_id text not null references tenants on delete cascade,
    user_id text not null,
    number bigint not null generated always as identity unique,
    title text,
    epoch bigint not null check (epoch >= 0),
    archived_epoch bigint not null default 0,
    archived_seq bigint not null default 0,
    header json,
    v integer,
    turn_count bigint not null default 0,
    forked_from_share boolean not null default false,
    created_at timestamptz(3) not null default clock_timestamp(),
    updated_at timestamptz(3) not null default clock_timestamp()
  ) with (fillfactor = 80)`,
  `create index sessions_of_user on sessions (tenant_id, user_id, updated_at desc, id collate "C" desc)`,
  `create index sessions_by_age on sessions (updated_at, id collate "C")`,

  `create table session_epochs (
    session_id text not null references sessions on delete cascade,
    epoch bigint not null,
    by text not null,
    reason text not null,
    at timestamptz(3) not null default clock_timestamp(),
    primary key (session_id, epoch)
  )`,

  `create table turns (
    session_id text not null references sessions on delete cascade,
    id text not null,
    start_seq bigint not null,
    end_seq bigint,
    status text not null,
    open boolean not null,
    snapshot json not null,
    primary key (session_id, id),
    unique (session_id, start_seq)
  )`,
  `create index turns_open on turns (session_id, start_seq) where open`,

  // A message that is no longer queued keeps its row without a body, so that a repeat does not queue it again. The
  // sender has its own column, so that it can be erased without reading the message.
  `create table waiting_messages (
    session_id text not null references sessions on delete cascade,
    id text not null,
    n bigint not null generated always as identity,
    body json,
    by_user text,
    added_at timestamptz(3) not null default clock_timestamp(),
    primary key (session_id, id)
  )`,
  `create index waiting_in_order on waiting_messages (session_id, n) where body is not null`,
  `create index waiting_by_user on waiting_messages (by_user) where by_user is not null`,

  `create table archived_events (
    session_id text not null references sessions on delete cascade,
    first_seq bigint not null,
    last_seq bigint not null check (last_seq >= first_seq),
    epoch bigint not null,
    turn_id text,
    type text not null,
    at bigint not null,
    event json not null,
    primary key (session_id, last_seq)
  )`,

  `create table outbox (
    id bigint primary key generated always as identity,
    session_id text not null references sessions on delete cascade,
    key text not null,
    draft json not null,
    since_epoch bigint not null,
    since_seq bigint not null,
    created_at timestamptz(3) not null default clock_timestamp(),
    attempts integer not null default 0,
    next_attempt_at timestamptz(3) not null default clock_timestamp(),
    delivered_at timestamptz(3),
    cursor_epoch bigint,
    cursor_seq bigint,
    archived_at timestamptz(3),
    unique (session_id, key)
  )`,
  `create index outbox_undelivered on outbox (id) where delivered_at is null`,
  `create index outbox_due on outbox (next_attempt_at, id) where delivered_at is null`,
  `create index outbox_undelivered_of_session on outbox (session_id, id) where delivered_at is null`,
  `create index outbox_unarchived on outbox (session_id) where delivered_at is not null and archived_at is null`,
  `create index outbox_archived on outbox (archived_at) where archived_at is not null`,

  `create table blobs (
    session_id text not null references sessions on delete cascade,
    id text not null,
    media_type text not null,
    size bigint not null,
    body bytea not null,
    created_at timestamptz(3) not null default clock_timestamp(),
    primary key (session_id, id)
  )`,

  `create table leases (
    executor text primary key,
    until timestamptz(3) not null,
    taken_by text
  )`,
  `create index leases_by_end on leases (until)`,

  `create table shares (
    id text primary key,
    session_id text not null references sessions on delete cascade,
    up_to_epoch bigint not null,
    up_to_seq bigint not null,
    created_at timestamptz(3) not null default clock_timestamp(),
    revoked_at timestamptz(3)
  )`,
  `create index shares_of_session on shares (session_id, created_at, id collate "C")`,

  `create table erasures (
    session_id text primary key,
    requested_at timestamptz(3) not null default clock_timestamp()
  )`,
  `create index erasures_by_age on erasures (requested_at, session_id collate "C")`,
];

export const core: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
