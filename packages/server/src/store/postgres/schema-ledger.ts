/**
 * `LedgerTables` declares the tables of migration 0002 for Kysely. Types only.
 *
 * Invariant: the types match the tables after all migrations; the compiler can't check this. JSON is written as text
 * and read parsed. Times are read as milliseconds; see `open-database.ts`.
 */
import type { Json } from "@turnstream/protocol";
import type { ColumnType, Generated, GeneratedAlways } from "kysely";
import type { InteractionKind } from "../rules/interactions.ts";
import type { PaymentStatus } from "../rules/payments.ts";
import type { JsonColumn, NullableTime, Time } from "./schema.ts";

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
  interactions: {
    session_id: string;
    id: string;
    n: GeneratedAlways<number>;
    tenant_id: string;
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
    /** True for a payment with an order. Only the order changes it from then on. */
    ordered: Generated<boolean>;
  };
  interaction_changes: {
    session_id: string;
    interaction_id: string;
    version: number;
    status: string;
    by_user: string | null;
    reason: ColumnType<string | null, string | null, string | null>;
    body: JsonColumn<Json>;
    at: ColumnType<number, Date, never>;
  };
  payments: {
    session_id: string;
    id: string;
    tenant_id: string;
    interaction_id: string;
    order_no: string;
    amount: number;
    currency: string;
    gateway: string;
    description: JsonColumn<string>;
    status: Generated<PaymentStatus>;
    gateway_ref: string | null;
    created_at: Time;
    changed_at: NullableTime;
    expires_at: NullableTime;
    next_check_at: NullableTime;
  };
  payment_notices: {
    tenant_id: string;
    gateway: string;
    event_id: string;
    order_no: string;
    session_id: string | null;
    outcome: string;
    body: JsonColumn<Json>;
    received_at: Time;
  };
  usage_days: {
    tenant_id: string;
    day: string;
    model: string;
    turns: number;
    calls: number;
    input_tokens: number;
    output_tokens: number;
    total_tokens: number;
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
  };
  audit_heads: { tenant_id: string; n: number; hash: string };
}
