/** The whole database as Kysely sees it. Types only; the tables themselves come from the migrations. */
import type { Kysely } from "kysely";
import type { BuiltInTables } from "./built-in-tables.ts";
import type { CoreTables } from "./schema.ts";
import type { FileTables } from "./file-tables.ts";
import type { FormTables } from "./form-tables.ts";
import type { GatewayTables } from "./gateway-tables.ts";
import type { InteractionTables } from "./interaction-tables.ts";
import type { LedgerTables } from "./schema-ledger.ts";
import type { RuntimeTables } from "./runtime-tables.ts";

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
