/**
 * `postgresAudit` implements the audit. `maintainAudit` creates its partitions, and drops the oldest one when all its
 * rows have expired.
 *
 * Invariant: the head's row is locked while an audit row is added, so the chain of a tenant never forks. An optional
 * row is added after a savepoint, so that its failure doesn't undo what it is about. The start of every tenant with
 * rows in a partition is stored before the partition is dropped, so that the rest of its chain can be verified at any
 * moment. The function `drop_audit_period` checks this again.
 */
import { type Selectable, sql } from "kysely";
import {
  type AuditRow,
  type ResolvedAuditOptions,
  type Audit,
  type AuditEntry,
  checkAuditEntry,
  checkAuditRetention,
  nextAuditRow,
  reportLostEntry,
  type AuditHead,
  EMPTY_AUDIT_HEAD,
  type AuditMaintenance,
  type AuditStart,
  startAfter,
} from "./audit.ts";
import type { Db } from "./database/database.ts";
import { toStoreError } from "./database/errors.ts";
import type { LedgerTables } from "./database/schema-ledger.ts";
import { inTransaction } from "./database/session-row.ts";
import { existingTenant } from "./database/tenant-row.ts";
import { checkCount, checkPage, checkLimit, MAX_BATCH } from "./rules/arguments.ts";
import { needsAudit } from "./rules/audit-actions.ts";
import { postgresUserNumbers } from "./sessions.ts";

type AuditLogRow = Selectable<LedgerTables["audit_log"]>;

function auditRowOf({ tenant_id, prev_hash, key_id, period: _period, ...rest }: AuditLogRow): AuditRow {
  return { ...rest, tenant: tenant_id, prevHash: prev_hash, keyId: key_id };
}

export function postgresAudit(db: Db, options: ResolvedAuditOptions): Audit {
  const add = (tx: Db, tenant: string, entry: AuditEntry): Promise<AuditRow | null> =>
    needsAudit(entry) ? addRow(tx, tenant, entry, options) : tryAddRow(tx, tenant, entry, options);
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

const NOTHING: AuditMaintenance = { recorded: 0, dropped: 0 };

async function maintainAudit(
  db: Db,
  { keys }: ResolvedAuditOptions,
  query: { readonly retentionMs: number | null; readonly limit: number },
): Promise<AuditMaintenance> {
  await sql`select create_audit_periods()`.execute(db);
  const limit = checkLimit(query.limit, MAX_BATCH);
  if (query.retentionMs === null) return NOTHING;
  const retentionMs = checkAuditRetention(query.retentionMs);
  const { rows: found } = await sql<{ now: number; period: number | null }>`
    select audit_clock() as now, min(period) as period from audit_periods
    where period < audit_period(audit_clock() - ${retentionMs}::bigint)
      and period < current_audit_period()`.execute(db);
  const { now, period } = found[0] ?? { now: 0, period: null };
  if (period === null) return NOTHING;
  const rows = await lastRows(db, period, limit);
  // Without workers, the newest partition also gets the rows of later weeks.
  if (rows.some(({ at }) => at > now - retentionMs)) return NOTHING;
  for (const { isFollowedByKeyed, ...row } of rows)
    await putStart(db, startAfter(auditRowOf(row), { keys, at: now, isFollowedByKeyed }));
  if (rows.length > 0) return { recorded: rows.length, dropped: 0 };
  const { rows: dropped } = await sql<{ is_dropped: boolean }>`
    select drop_audit_period(${period}) as is_dropped`.execute(db);
  return { recorded: 0, dropped: dropped[0]?.is_dropped === true ? 1 : 0 };
}

/** The last rows in a partition of tenants whose audit starts before them. */
async function lastRows(db: Db, period: number, limit: number) {
  const { rows } = await sql<AuditLogRow & { isFollowedByKeyed: boolean }>`
    select last.*, last.key_id is null and exists (select from audit_log later where later.tenant_id = last.tenant_id
      and later.n > last.n and later.key_id is not null) as "isFollowedByKeyed"
    from audit_heads heads
    cross join lateral (select * from audit_log
      where tenant_id = heads.tenant_id and period = ${period}::integer order by n desc limit 1) last
    left join audit_starts starts on starts.tenant_id = heads.tenant_id
    where starts.n is null or starts.n < last.n
    limit ${limit}`.execute(db);
  return rows;
}

async function putStart(db: Db, { tenant, keyId, ...start }: AuditStart): Promise<void> {
  const values = { ...start, key_id: keyId };
  await db
    .insertInto("audit_starts")
    .values({ ...values, tenant_id: tenant })
    .onConflict((conflict) =>
      conflict
        .column("tenant_id")
        .doUpdateSet(values)
        // Another worker may have been faster.
        .where(sql<boolean>`audit_starts.n < excluded.n`),
    )
    .execute();
}
