/**
 * `postgresAudit` implements the audit on PostgreSQL.
 *
 * Invariant: the head's row is locked while an audit row is added, so the chain of a tenant never forks. An optional
 * row is added after a savepoint, so that its failure doesn't undo what it is about.
 */
import { sql } from "kysely";
import type { Audit, AuditEntry, AuditHead, AuditRow } from "../ports/audit.ts";
import { checkCount } from "../rules/arguments.ts";
import { needsAudit } from "../rules/audit-actions.ts";
import { type ResolvedAuditOptions, reportLostEntry } from "../audit-options.ts";
import { checkAuditEntry, nextAuditRow, EMPTY_AUDIT_HEAD } from "../rules/audit.ts";
import { checkPage } from "../rules/ledger-arguments.ts";
import { maintainAudit } from "./audit-periods.ts";
import { auditRowOf } from "./audit-row.ts";
import type { Db } from "./database.ts";
import { toStoreError } from "./errors.ts";
import { inTransaction } from "./session-row.ts";
import { postgresUserNumbers } from "./sessions.ts";
import { existingTenant } from "./tenant-row.ts";

export function postgresAudit(db: Db, options: ResolvedAuditOptions): Audit {
  const add = (tx: Db, tenant: string, entry: AuditEntry): Promise<AuditRow | null> =>
    needsAudit(entry.action) ? addRow(tx, tenant, entry, options) : tryAddRow(tx, tenant, entry, options);
  return {
    add: (tenant, entry) => inTransaction(db, (tx) => add(tx, tenant, entry)),

    addOnce: (tenant, mark, entry) =>
      inTransaction(db, async (tx) => {
        const { numInsertedOrUpdatedRows } = await tx
          .insertInto("usage_marks")
          .values({ tenant_id: existingTenant(tenant), key: `audit:${mark}` })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst();
        return numInsertedOrUpdatedRows === 0n ? null : add(tx, tenant, entry);
      }),

    async list(tenant, { after, limit }) {
      const rows = await db
        .selectFrom("audit_log")
        .selectAll()
        .where("tenant_id", "=", tenant)
        .where("n", ">", checkCount(after, "after"))
        .orderBy("n")
        .limit(checkPage(limit))
        .execute();
      return rows.map(auditRowOf);
    },

    async head(tenant) {
      const row = await db
        .selectFrom("audit_heads")
        .select(["n", "hash"])
        .where("tenant_id", "=", tenant)
        .executeTakeFirst();
      return row ?? null;
    },

    async start(tenant) {
      const row = await db
        .selectFrom("audit_starts")
        .select(["tenant_id as tenant", "n", "hash", "at", "key_id as keyId", "signature"])
        .where("tenant_id", "=", tenant)
        .executeTakeFirst();
      return row ?? null;
    },

    maintain: (query) => maintainAudit(db, options, query),
  };
}

async function addRow(
  tx: Db,
  tenant: string,
  entry: AuditEntry,
  { key }: ResolvedAuditOptions,
): Promise<AuditRow> {
  checkAuditEntry(entry);
  // Before the head is locked, because it may wait for another row of the same user.
  const actor = entry.actor === null ? null : await postgresUserNumbers(tx).numberOf(tenant, entry.actor);
  const { at, ...head } = await lockHead(tx, tenant);
  const row = nextAuditRow(entry, { tenant, head, at, actor, key });
  const { prevHash, keyId, tenant: tenant_id, ...rest } = row;
  await tx
    .insertInto("audit_log")
    .values({ ...rest, tenant_id, prev_hash: prevHash, key_id: keyId })
    .execute();
  await tx
    .updateTable("audit_heads")
    .set({ n: row.n, hash: row.hash })
    .where("tenant_id", "=", tenant)
    .execute();
  return row;
}

/** Throws only if the connection is lost. Then the transaction is lost too. */
async function tryAddRow(
  tx: Db,
  tenant: string,
  entry: AuditEntry,
  options: ResolvedAuditOptions,
): Promise<AuditRow | null> {
  await sql`savepoint audit_entry`.execute(tx);
  try {
    const row = await addRow(tx, tenant, entry, options);
    await sql`release savepoint audit_entry`.execute(tx);
    return row;
  } catch (error) {
    await sql`rollback to savepoint audit_entry`.execute(tx);
    reportLostEntry(toStoreError(error, "audit.add"), entry, options.onError);
    return null;
  }
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
    .values({ tenant_id: tenant, ...EMPTY_AUDIT_HEAD })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return await locked().executeTakeFirstOrThrow();
}
