/** The audit on PostgreSQL. The head's row is locked while a row is added, so the chain of a tenant never forks. */
import { sql } from "kysely";
import type { Audit } from "../ports/audit.ts";
import {
  type AuditHead,
  type AuditRow,
  checkAuditEntry,
  NO_AUDIT,
  nextAuditRow,
} from "../rules/audit.ts";
import { checkCount } from "../rules/arguments.ts";
import { checkPage } from "../rules/ledger-arguments.ts";
import type { Db } from "./database.ts";
import { inTransaction } from "./session-row.ts";

export function postgresAudit(db: Db): Audit {
  return {
    async add(tenant, entry) {
      checkAuditEntry(entry);
      return await inTransaction(db, async (tx) => {
        const { at, ...head } = await lockHead(tx, tenant);
        const row = nextAuditRow(tenant, head, at, entry);
        const { prevHash, tenant: tenant_id, ...rest } = row;
        await tx
          .insertInto("audit_log")
          .values({ ...rest, tenant_id, prev_hash: prevHash })
          .execute();
        await tx
          .updateTable("audit_heads")
          .set({ n: row.n, hash: row.hash })
          .where("tenant_id", "=", tenant)
          .execute();
        return row;
      });
    },

    async list(tenant, { after, limit }) {
      const rows = await db
        .selectFrom("audit_log")
        .selectAll()
        .where("tenant_id", "=", tenant)
        .where("n", ">", checkCount(after, "after"))
        .orderBy("n")
        .limit(checkPage(limit))
        .execute();
      return rows.map(({ tenant_id, prev_hash, ...rest }): AuditRow => ({
        ...rest,
        tenant: tenant_id,
        prevHash: prev_hash,
      }));
    },

    async head(tenant) {
      const row = await db
        .selectFrom("audit_heads")
        .select(["n", "hash"])
        .where("tenant_id", "=", tenant)
        .executeTakeFirst();
      return row ?? null;
    },
  };
}

async function lockHead(tx: Db, tenant: string): Promise<AuditHead & { at: number }> {
  const locked = () =>
    tx
      .selectFrom("audit_heads")
      .select(["n", "hash", sql<number>`clock_timestamp()`.as("at")])
      .where("tenant_id", "=", tenant)
      .forUpdate();
  const there = await locked().executeTakeFirst();
  if (there !== undefined) return there;
  await tx
    .insertInto("audit_heads")
    .values({ tenant_id: tenant, ...NO_AUDIT })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return await locked().executeTakeFirstOrThrow();
}
