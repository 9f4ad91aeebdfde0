/** What the ledger's tables in memory have in common. */
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import type { Rows } from "./tables.ts";
import { TENANTS } from "./tenants.ts";

export function requireTenant(rows: Rows, tenant: string): void {
  if (rows.get(TENANTS, "", tenant) === undefined) throw new StoreError("NOT_FOUND", `tenant ${tenant}`);
}

/** A value that went through JSON, as in PostgreSQL: the caller's own can't change what is stored. */
export function copyJson<T extends Json>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
