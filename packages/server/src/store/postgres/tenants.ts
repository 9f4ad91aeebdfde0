/** Tenants on PostgreSQL. */
import type { Tenant, Tenants } from "../ports/tenants.ts";
import { checkId, checkText } from "../rules/arguments.ts";
import type { Db } from "./database.ts";
import { eraseSessions } from "./erase-sessions.ts";
import { inTransaction } from "./session-row.ts";

export function postgresTenants(db: Db): Tenants {
  return {
    async create({ id, name }) {
      const values = { id: checkId(id, "tenant id"), name: checkText(name, "tenant name") };
      return tenantOf(await db.insertInto("tenants").values(values).returningAll().executeTakeFirstOrThrow());
    },
    async get(id) {
      const row = await db.selectFrom("tenants").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : tenantOf(row);
    },
    remove: (id) =>
      inTransaction(db, async (tx) => {
        // With its row held nobody can add a session that would be erased without a note.
        await tx.selectFrom("tenants").select("id").where("id", "=", id).forUpdate().execute();
        const erased = await eraseSessions(tx, { tenant: id });
        await tx.deleteFrom("tenants").where("id", "=", id).execute();
        return erased;
      }),
  };
}

function tenantOf(row: { id: string; name: string; created_at: number }): Tenant {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}
