/**
 * `Tenants` is the part of the store for tenants, and `postgresTenants` its implementation.
 *
 * Invariant: removing a tenant deletes its rows in every table but the audit, the erasures and the objects that wait
 * for their deletion. Every table with a tenant and without a foreign key to it must be in `TENANT_TABLES`.
 */
import { sql } from "kysely";
import type { Db } from "./database/database.ts";
import { inTransaction } from "./database/session-row.ts";
import { lockTenant } from "./database/tenant-row.ts";
import { eraseSessions } from "./erasures.ts";
import { checkId, checkText } from "./rules/arguments.ts";

/** The owner of sessions, keys and users. */
export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
}

/** The part of the store for tenants. Keys and users have their own parts of the store. */
export interface Tenants {
  /** @throws StoreError with EXISTS if the id is taken. */
  create(tenant: { readonly id: string; readonly name: string }): Promise<Tenant>;
  get(id: string): Promise<Tenant | null>;
  /**
   * Erases the tenant and everything that belongs to it. Each session leaves a pending erasure, as with
   * `sessions.remove`.
   * @returns the ids of the erased sessions, so that their logs can be deleted
   */
  remove(id: string): Promise<string[]>;
}

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
];

const COLUMNS = ["id", "name", "created_at as createdAt"] as const;

export function postgresTenants(db: Db): Tenants {
  return {
    async create({ id, name }) {
      const values = { id: checkId(id, "tenant id"), name: checkText(name, "tenant name") };
      return db.insertInto("tenants").values(values).returning(COLUMNS).executeTakeFirstOrThrow();
    },
    async get(id) {
      const row = await db.selectFrom("tenants").select(COLUMNS).where("id", "=", id).executeTakeFirst();
      return row ?? null;
    },
    remove: (id) =>
      inTransaction(db, async (tx) => {
        // The lock prevents new sessions, which would be erased without a record.
        await lockTenant(tx, id);
        const erased = await eraseSessions(tx, { tenant: id });
        for (const table of TENANT_TABLES)
          await sql`delete from ${sql.table(table)} where tenant_id = ${id}`.execute(tx);
        await tx.deleteFrom("tenants").where("id", "=", id).execute();
        return erased;
      }),
  };
}
