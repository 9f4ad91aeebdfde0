/**
 * `KNOWLEDGE_TABLES` are the tables of knowledge bases, and `KnowledgeTables` their types for Kysely.
 *
 * Invariant: the types match the tables; the compiler can't check this.
 */
import type { Json } from "@turnstream/protocol";
import { createTables, type FeatureTables, type JsonColumn, type Time } from "@turnstream/server/internal";
import type { Generated } from "kysely";

export const KNOWLEDGE_TABLES: FeatureTables = {
  feature: "knowledge",
  names: ["knowledge_chunks", "knowledge_objects"],
  migrations: [
    createTables([
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
      // `words` is a tsvector of our own tokens, so the server's configuration has no effect. Each row also has the token
      // of its base (`scopeToken`). So one index serves all tenants, and a search reads only its own base.
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
    ]),
  ],
};

export interface KnowledgeTables {
  knowledge_objects: {
    tenant_id: string;
    base: string;
    id: string;
    title: string;
    url: string | null;
    metadata: JsonColumn<Json>;
    hash: string;
    lines: number;
    changed_at: Time;
  };
  knowledge_chunks: {
    tenant_id: string;
    base: string;
    object_id: string;
    n: number;
    first_line: number;
    last_line: number;
    text: string;
    words: Generated<string>;
  };
}
