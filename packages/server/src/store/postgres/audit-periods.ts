/**
 * `maintainAudit` creates the partitions of the audit, and drops the oldest one when all its rows have expired.
 *
 * Invariant: the start of every tenant with rows in a partition is stored before the partition is dropped, so that the
 * rest of its chain can be verified at any moment. The function `drop_audit_period` checks this again.
 */
import { sql } from "kysely";
import type { ResolvedAuditOptions } from "../audit-options.ts";
import type { AuditMaintenance, AuditStart } from "../ports/audit.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkLimit } from "../rules/arguments.ts";
import { checkAuditRetention, startAfter } from "../rules/audit-start.ts";
import { type AuditLogRow, auditRowOf } from "./audit-row.ts";
import type { Db } from "./database.ts";

const NOTHING: AuditMaintenance = { recorded: 0, dropped: 0 };

export async function maintainAudit(
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
