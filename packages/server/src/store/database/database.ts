/** `Database` combines the types of the tables for Kysely, and `Db` is the pool or a transaction. */
import type { Kysely } from "kysely";
import type { LedgerTables } from "./schema-ledger.ts";
import type { RuntimeTables } from "./schema-runtime.ts";
import type { CoreTables } from "./schema.ts";

export interface Database extends CoreTables, LedgerTables, RuntimeTables {}

/** The pool, or a transaction on it. */
export type Db = Kysely<Database>;
