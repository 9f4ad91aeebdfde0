/**
 * `Database` combines the types of all tables for Kysely, and `Db` is the pool or a transaction. Types only.
 *
 * Invariant: the migrations create the tables. Every group of tables in `schema.ts` and `schema-ledger.ts` must be
 * listed here, or its queries don't compile.
 */
import type { Kysely } from "kysely";
import type { LedgerTables } from "./schema-ledger.ts";
import type { RuntimeTables } from "./schema-runtime.ts";
import type {
  CoreTables,
  FormTables,
  InteractionTables,
  FileTables,
  BuiltInTables,
  GatewayTables,
  WebhookTables,
  AgentTables,
  LimitTables,
} from "./schema.ts";

export interface Database
  extends
    CoreTables,
    LedgerTables,
    RuntimeTables,
    FormTables,
    InteractionTables,
    FileTables,
    BuiltInTables,
    GatewayTables,
    WebhookTables,
    AgentTables,
    LimitTables {}

/** The pool, or a transaction on it. */
export type Db = Kysely<Database>;
