/**
 * `requireErasable` refuses tables of a feature that the erasure of a session, a tenant or a user would miss, or that
 * would make it fail.
 *
 * Invariant: it runs after the migrations of the feature, in their commit, because only the database knows its keys.
 */
import { sql } from "kysely";
import { StoreError } from "../errors.ts";
import type { FeatureTables } from "../features.ts";
import type { Db } from "./database.ts";

interface CreatedTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly nullable: readonly string[];
  /** Whether its foreign keys lead to `sessions` and `tenants`, all of them with ON DELETE CASCADE. */
  readonly isOfSession: boolean;
  readonly isOfTenant: boolean;
}

/** @throws StoreError with INVALID */
export async function requireErasable(db: Db, { names, userColumns = [] }: FeatureTables): Promise<void> {
  const tables = await readTables(db, names);
  const problems = [
    ...tables.map(describeProblem),
    ...userColumns.map(([name, column]) => {
      const { columns = [], nullable = [] } = tables.find((table) => table.name === name) ?? {};
      const isErasable = columns.includes("tenant_id") && columns.includes("session_id");
      if (isErasable && nullable.includes(column)) return null;
      return `the user column ${name}.${column} must be nullable, in a table with tenant_id and session_id`;
    }),
  ];
  const problem = problems.find((each) => each !== null);
  if (problem !== undefined) throw new StoreError("INVALID", problem);
}

function describeProblem({ name, columns, isOfSession, isOfTenant }: CreatedTable): string | null {
  if (columns.length === 0) return `the migrations must create the table ${name}`;
  if (columns.includes("session_id") && !isOfSession)
    return `the table ${name} must reference sessions with ON DELETE CASCADE`;
  if (columns.includes("tenant_id") && !isOfSession && !isOfTenant)
    return `the table ${name} must reference sessions or tenants with ON DELETE CASCADE`;
  return null;
}

/** Follows foreign keys, because a table can reference another one of its feature. */
async function readTables(db: Db, names: readonly string[]): Promise<readonly CreatedTable[]> {
  const { rows } = await sql<CreatedTable>`
    with recursive referenced(name, id) as (
      select name, to_regclass(name)::oid from unnest(${[...names]}::text[]) name
      union select name, confrelid from pg_constraint join referenced on conrelid = id
      where contype = 'f' and confdeltype = 'c')
    select name,
      coalesce(bool_or(id = to_regclass('sessions')), false) as "isOfSession",
      coalesce(bool_or(id = to_regclass('tenants')), false) as "isOfTenant",
      array(select attname::text from pg_attribute where attrelid = to_regclass(name) and attnum > 0) as columns,
      array(select attname::text from pg_attribute
        where attrelid = to_regclass(name) and attnum > 0 and not attnotnull) as nullable
    from referenced group by name order by name`.execute(db);
  return rows;
}
