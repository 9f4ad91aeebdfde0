/** Tenants in memory. */
import { checkId, checkText } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";
import type { Tenant, Tenants } from "../ports/tenants.ts";
import { eraseSession, SESSIONS } from "./session-rows.ts";
import { type MemoryTables, table } from "./tables.ts";

export const TENANTS = table<Tenant>("tenants", "none");

export function memoryTenants(tables: MemoryTables, env: Env): Tenants {
  return {
    create: ({ id, name }) =>
      tables.run((rows) => {
        const tenant = {
          id: checkId(id, "tenant id"),
          name: checkText(name, "tenant name"),
          createdAt: env.now(),
        };
        if (rows.get(TENANTS, "", id) !== undefined) throw new StoreError("EXISTS", `tenant ${id}`);
        rows.put(TENANTS, "", id, tenant);
        return tenant;
      }),
    get: (id) => tables.run((rows) => rows.get(TENANTS, "", id) ?? null),
    remove: (id) =>
      tables.run((rows) => {
        const gone = rows.all(SESSIONS).filter((row) => row.tenant === id);
        for (const row of gone) eraseSession(rows, row.id, env.now());
        rows.removeOwned("tenant", id);
        rows.remove(TENANTS, "", id);
        return gone.map((row) => row.id).toSorted();
      }),
  };
}
