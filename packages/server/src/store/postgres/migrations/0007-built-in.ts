/**
 * Migration 0007: memories of people and knowledge bases of tenants. Never edited once released: add another.
 *
 * - `words` is a tsvector of words that we make ourselves (rules/search-words.ts), so no configuration of the server has
 *   a say. Each has the word of its base in it (rules/knowledge-rules.ts): one index serves all tenants, and a search
 *   reads only what is in its own base.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `create table memories (
    tenant_id text not null references tenants on delete cascade,
    user_id text not null,
    id text not null,
    text text not null,
    pinned boolean not null,
    created_at timestamptz(3) not null default clock_timestamp(),
    updated_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, user_id, id)
  )`,

  `create table knowledge_objects (
    tenant_id text not null references tenants on delete cascade,
    base text collate "C" not null,
    id text collate "C" not null,
    title text not null,
    url text,
    metadata json not null,
    hash text not null,
    lines integer not null,
    changed_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, base, id)
  )`,

  `create table knowledge_chunks (
    tenant_id text not null,
    base text collate "C" not null,
    object_id text collate "C" not null,
    n integer not null,
    first_line integer not null,
    last_line integer not null,
    text text not null,
    words tsvector not null,
    primary key (tenant_id, base, object_id, n),
    foreign key (tenant_id, base, object_id) references knowledge_objects on delete cascade
  )`,
  `create index knowledge_chunks_words on knowledge_chunks using gin (words)`,
];

export const builtIn: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
