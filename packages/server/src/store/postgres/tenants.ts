/**
 * `postgresTenants` implements tenants on PostgreSQL.
 *
 * Invariant: removing a tenant deletes its rows in every table but the audit, the erasures and the objects that wait for
 * their deletion. Every table with a tenant and without a foreign key to it must be in `TENANT_TABLES`.
 */
import { checkId, checkText } from "../rules/arguments.ts";
import type { Tenant, Tenants } from "../ports/sessions.ts";
import type { Db } from "./database.ts";
import { eraseSessions } from "./erase-sessions.ts";
import { inTransaction } from "./session-row.ts";
import { lockTenant } from "./tenant-row.ts";

/** The tables whose rows belong to a tenant, and not to one of its sessions. Foreign keys delete those of the others. */
const TENANT_TABLES = [
  "session_counters",
  "usage_days",
  "usage_user_days",
  "usage_key_days",
  "usage_marks",
  "stored_bytes",
  "stored_key_bytes",
  "people",
  "memories",
  "redeemed_tickets",
  "idempotency_keys",
] as const;

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
        // The lock prevents new sessions, which would be erased without a record.
        await lockTenant(tx, id);
        const erased = await eraseSessions(tx, { tenant: id });
        for (const table of TENANT_TABLES) await tx.deleteFrom(table).where("tenant_id", "=", id).execute();
        await tx.deleteFrom("tenants").where("id", "=", id).execute();
        return erased;
      }),
  };
}

function tenantOf(row: { id: string; name: string; created_at: number }): Tenant {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}
