/**
 * `LedgerTables` declares the tables of keys, interactions and the audit for Kysely.
 *
 * Invariant: see `schema.ts`.
 */
import type { Json } from "@turnstream/protocol";
import type { ColumnType, GeneratedAlways, Generated } from "kysely";
import type { Time, NullableTime, JsonColumn, OfSession } from "./schema.ts";
import type { InteractionKind } from "../rules/interactions.ts";

export interface LedgerTables {
  api_keys: {
    id: string;
    tenant_id: string;
    name: string;
    scopes: string[];
    secret_hash: ColumnType<Buffer, Uint8Array, never>;
    created_at: Time;
    expires_at: NullableTime;
    revoked_at: NullableTime;
    last_used_at: NullableTime;
  };
  interactions: OfSession & {
    id: string;
    n: GeneratedAlways<number>;
    kind: InteractionKind;
    key: string;
    turn_id: string;
    run_id: string;
    block_id: string;
    item_index: number;
    call_id: string | null;
    request: JsonColumn<Json>;
    digest: string | null;
    deadline: NullableTime;
    status: Generated<string>;
    version: Generated<number>;
    requested_at: Time;
    changed_at: NullableTime;
  };
  interaction_changes: OfSession & {
    interaction_id: string;
    version: number;
    status: string;
    by_user: string | null;
    reason: ColumnType<string | null, string | null, string | null>;
    body: JsonColumn<Json>;
    at: ColumnType<number, Date, never>;
  };
  usage_marks: { tenant_id: string; key: string; marked_at: Time };
  people: { number: GeneratedAlways<number>; tenant_id: string; user_id: string };
  audit_log: {
    tenant_id: string;
    n: number;
    at: number;
    actor: number | null;
    action: string;
    subject: string;
    detail: string;
    prev_hash: string;
    hash: string;
    key_id: string | null;
    period: Generated<number>;
  };
  audit_heads: { tenant_id: string; n: number; hash: string };
  audit_starts: {
    tenant_id: string;
    n: number;
    hash: string;
    at: number;
    key_id: string | null;
    signature: string | null;
  };
}
