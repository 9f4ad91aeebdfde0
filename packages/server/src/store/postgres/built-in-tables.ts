/** The tables of migration 0007 as Kysely sees them. Types only. */
import type { Json } from "@turnstream/protocol";
import type { Generated } from "kysely";
import type { JsonColumn, Time } from "./schema.ts";

export interface BuiltInTables {
  memories: {
    tenant_id: string;
    user_id: string;
    id: string;
    text: string;
    pinned: boolean;
    created_at: Time;
    updated_at: Time;
  };
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
