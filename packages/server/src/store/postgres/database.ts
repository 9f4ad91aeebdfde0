/** The whole database as Kysely sees it. Types only; the tables themselves come from the migrations. */
import type { Kysely } from "kysely";
import type {
  BuiltInTables,
  CoreTables,
  FileTables,
  FormTables,
  GatewayTables,
  InteractionTables,
  RuntimeTables,
} from "./schema.ts";
import type { LedgerTables } from "./schema-ledger.ts";

export interface Database
  extends
    CoreTables,
    LedgerTables,
    RuntimeTables,
    FormTables,
    InteractionTables,
    FileTables,
    BuiltInTables,
    GatewayTables {}

/** The pool, or a transaction on it. */
export type Db = Kysely<Database>;
