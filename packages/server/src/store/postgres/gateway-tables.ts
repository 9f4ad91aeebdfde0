/** The tables of migration 0009 as Kysely sees them. Types only. */
import type { Json } from "@turnstream/protocol";
import type { ColumnType, RawBuilder } from "kysely";
import type { JsonColumn, Time } from "./schema.ts";

type When = ColumnType<number, Date | RawBuilder<Date>, Date | RawBuilder<Date>>;

export interface GatewayTables {
  redeemed_tickets: { tenant_id: string; id: string; expires_at: When };
  idempotency_keys: {
    tenant_id: string;
    user_id: string;
    route: string;
    key: string;
    digest: string;
    made_id: string;
    claim: string | null;
    claimed_until: When;
    status: number | null;
    body: JsonColumn<Json> | null;
    session_id: string | null;
    begun_at: Time;
  };
}
