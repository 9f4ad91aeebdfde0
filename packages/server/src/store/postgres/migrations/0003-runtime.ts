/**
 * `runtime` is migration 0003: running turns, their journal, and the options of queued messages.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. A session
 * has at most one running turn, by the primary key. As in migration 0001, JSON is `json`, and rows are erased with
 * their session.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `alter table waiting_messages add column options json`,
  // For the search over all sessions, oldest message first.
  `create index waiting_by_age on waiting_messages (added_at, n) where body is not null`,

  // The primary key allows one running turn per session. User ids have their own columns, so that they can be erased
  // without reading the message.
  `create table running_turns (
    session_id text primary key references sessions on delete cascade,
    turn text not null,
    message_id text,
    message json,
    message_by text,
    message_at timestamptz(3),
    retries text,
    options json,
    begun_at timestamptz(3) not null default clock_timestamp(),
    attempts integer not null default 0,
    stop_by text,
    stop_at timestamptz(3)
  )`,
  `create index running_unattempted on running_turns (begun_at) where attempts = 0`,
  `create index running_message_by on running_turns (message_by) where message_by is not null`,
  `create index running_stopping on running_turns (stop_at) where stop_at is not null`,
  `create index running_stop_by on running_turns (stop_by) where stop_by is not null`,

  `create table turn_journal (
    session_id text not null references sessions on delete cascade,
    turn text not null,
    key text not null,
    n bigint not null generated always as identity,
    value json not null,
    kept boolean not null,
    primary key (session_id, turn, key)
  )`,
];

export const runtime: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
