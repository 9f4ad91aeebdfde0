/**
 * `files` is migration 0006: text of files in pieces, and uploads in chunks.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. Pieces and
 * chunks are erased with their file, and files with their session.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `create table attachments (
    session_id text not null references sessions on delete cascade,
    id text not null,
    n bigint not null generated always as identity,
    turn text not null,
    name text not null,
    url text not null,
    media_type text not null,
    size bigint not null,
    chars bigint not null,
    pieces integer not null,
    added_at timestamptz(3) not null default clock_timestamp(),
    primary key (session_id, id)
  )`,
  `create index attachments_newest on attachments (session_id, n desc)`,
  `create table attachment_pieces (
    session_id text not null,
    attachment_id text not null,
    n integer not null,
    at bigint not null,
    line integer not null,
    text text not null,
    primary key (session_id, attachment_id, n),
    foreign key (session_id, attachment_id) references attachments on delete cascade
  )`,

  `create table uploads (
    session_id text not null references sessions on delete cascade,
    id text not null,
    name text not null,
    media_type text not null,
    by_user text,
    attempt integer not null default 1,
    size bigint not null default 0,
    chunks integer not null default 0,
    complete boolean not null default false,
    created_at timestamptz(3) not null default clock_timestamp(),
    primary key (session_id, id)
  )`,
  `create index uploads_by_user on uploads (by_user) where by_user is not null`,
  `create index uploads_incomplete on uploads (created_at) where not complete`,
  `create table upload_chunks (
    session_id text not null,
    upload_id text not null,
    n integer not null,
    bytes bytea not null,
    primary key (session_id, upload_id, n),
    foreign key (session_id, upload_id) references uploads on delete cascade
  )`,
  // Uploads are mostly compressed already, so compressing them again would cost time for nothing.
  `alter table upload_chunks alter column bytes set storage external`,
];

export const files: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
