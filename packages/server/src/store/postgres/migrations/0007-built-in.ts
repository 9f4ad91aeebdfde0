/**
 * `builtIn` is migration 0007: memories of users and knowledge bases of tenants.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 * - `words` is a tsvector of our own tokens (`rules/search.ts`), so the server's configuration has no effect. Each row
 *   also has the token of its base (`rules/knowledge.ts`). So one index serves all tenants, and a search reads only its
 *   own base.
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
