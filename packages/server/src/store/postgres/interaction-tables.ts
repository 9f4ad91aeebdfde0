/** The tables of migration 0005 as Kysely sees them. Types only. */
import type { Json } from "@turnstream/protocol";
import type { GeneratedAlways } from "kysely";
import type { JsonColumn, Time } from "./schema.ts";

export interface InteractionTables {
  interaction_schemas: {
    session_id: string;
    interaction_id: string;
    schema: JsonColumn<Json>;
  };
  allowances: {
    session_id: string;
    tenant_id: string;
    n: GeneratedAlways<number>;
    agent: string;
    tool: string;
    by_user: string | null;
    given_at: Time;
  };
}
