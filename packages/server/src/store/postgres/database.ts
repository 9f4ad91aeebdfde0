/** `Database` combines the types of all tables for Kysely. The migrations create the tables. */
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
