/**
 * `existingTenant` refuses rows for a tenant that does not exist, in place of a foreign key. `lockTenant` waits for
 * transactions with such rows, and keeps new ones away until its own transaction ends.
 *
 * Invariant: a statement that adds a row of a tenant, and that no foreign key checks, has `existingTenant`. It does not
 * lock the tenant's row: concurrent locks of one row make multixacts.
 */
import { sql } from "kysely";
import { StoreError } from "../errors.ts";
import type { Db } from "./database.ts";

/** The id of the tenant. Without the tenant, the statement fails like one with a foreign key. */
export function existingTenant(tenant: string) {
  return sql<string>`existing_tenant(${tenant})`;
}

/** Calls for the same tenant run one after the other. Blocks nothing else. */
export async function lockTenantRow(tx: Db, tenant: string): Promise<void> {
  const row = await tx
    .selectFrom("tenants")
    .select("id")
    .where("id", "=", tenant)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new StoreError("NOT_FOUND", `tenant ${tenant}`);
}

/** The lock of the function `existing_tenant`, exclusively. */
export async function lockTenant(tx: Db, tenant: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('tenant/' || ${tenant}::text, 0))`.execute(tx);
}
