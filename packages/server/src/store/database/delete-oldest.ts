/** `deleteOldest` deletes old rows of a table, a bounded number per call. */
import { type RawBuilder, sql } from "kysely";
import { checkLimit, MAX_BATCH } from "../rules/arguments.ts";
import type { Db } from "./database.ts";

interface OldRows {
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** Which rows may be deleted. An index must serve the condition and the order `by`. */
  readonly isOld: RawBuilder<unknown>;
  readonly by: RawBuilder<unknown>;
  readonly limit: number;
}

/** Leaves rows that other transactions have locked to the next call. @returns how many it deleted */
export async function deleteOldest(
  db: Db,
  table: string,
  { key, isOld, by, limit }: OldRows,
): Promise<number> {
  const columns = sql.join(key.map((column) => sql.ref(column)));
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (${columns}) in (
      select ${columns} from ${sql.table(table)} where ${isOld}
      order by ${by} limit ${checkLimit(limit, MAX_BATCH)} for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0n);
}
