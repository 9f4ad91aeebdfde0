/**
 * `PAYMENT_TABLES` are the tables of payments, and `PaymentTables` their types for Kysely.
 *
 * Invariant: the types match the tables; the compiler can't check this. Texts that a user, a model or a provider wrote
 * are `json`, because `text` refuses NUL.
 */
import {
  createTables,
  type FeatureTables,
  type JsonColumn,
  type NullableTime,
  type Time,
} from "@turnstream/server/internal";
import type { ColumnType, Generated, GeneratedAlways } from "kysely";
import type {
  PaymentActor,
  PaymentChange,
  PaymentFlag,
  PaymentInputType,
  PaymentStatus,
} from "./payment-transitions.ts";

export const PAYMENT_TABLES: FeatureTables = {
  feature: "payments",
  names: ["payments_changes", "payments"],
  userColumns: [["payments_changes", "by_user"]],
  migrations: [
    createTables([
      // A payment has the id of its interaction. A provider's notification names only the order, and a visitor of the
      // checkout page has only the token.
      `create table payments (
    tenant_id text not null,
    session_id text not null,
    id text not null,
    n bigint not null generated always as identity,
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
    primary key (tenant_id, session_id, id),
    unique (tenant_id, id),
    foreign key (tenant_id, session_id) references sessions on delete cascade,
    foreign key (tenant_id, session_id, id) references interactions on delete cascade
  )`,
      `create index payments_in_order on payments (tenant_id, session_id, n)`,
      `create index payments_to_check on payments (next_check_at, n) where next_check_at is not null`,
      `create index payments_flagged on payments (tenant_id, n) where flag is not null and flag_resolved_at is null`,

      `create table payments_changes (
    tenant_id text not null,
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
    primary key (tenant_id, session_id, payment_id, n),
    foreign key (tenant_id, session_id, payment_id) references payments on delete cascade
  )`,
      // A provider's report counts once.
      `create unique index payments_changes_of_event
    on payments_changes (tenant_id, session_id, payment_id, provider, event) where event is not null`,
      `create index payments_changes_by_user on payments_changes (by_user) where by_user is not null`,
    ]),
  ],
};

export interface PaymentTables {
  payments: {
    session_id: string;
    id: string;
    n: GeneratedAlways<number>;
    tenant_id: string;
    order_no: string;
    token_hash: string;
    amount: number;
    currency: string;
    provider: string;
    provider_ref: string | null;
    description: JsonColumn<string>;
    locale: string;
    continues: boolean;
    agent: string | null;
    mode: "agent" | "chat" | null;
    status: Generated<PaymentStatus>;
    refunded_amount: Generated<number>;
    created_at: Time;
    changed_at: NullableTime;
    expires_at: ColumnType<number, Date, never>;
    /** The time until the next check; it doubles with every check. */
    check_ms: number;
    next_check_at: NullableTime;
    queried_at: NullableTime;
    flag: PaymentFlag | null;
    flagged_at: NullableTime;
    flag_resolved_at: NullableTime;
    flag_resolved_by: string | null;
    flag_note: ColumnType<string | null, string | null | undefined, string | null>;
  };
  payments_changes: {
    tenant_id: string;
    session_id: string;
    payment_id: string;
    n: number;
    actor: PaymentActor;
    by_user: string | null;
    input: PaymentInputType;
    outcome: PaymentChange["outcome"];
    from_status: PaymentStatus;
    to_status: PaymentStatus;
    at: ColumnType<number, Date, never>;
    evidence_hash: string | null;
    provider: string | null;
    event: string | null;
    paid_amount: number | null;
    paid_currency: string | null;
    provider_ref: string | null;
    reason: ColumnType<string | null, string | null, never>;
  };
}
