/**
 * `memoryAudit` implements the audit in memory.
 *
 * Invariant: an audit row and the head that it moves are stored in one `tables.run`. The audit's tables have no owner,
 * so the audit outlives its tenant, as in PostgreSQL.
 */
import {
  type Audit,
  AUDIT_PERIOD_MS,
  type AuditEntry,
  type AuditHead,
  type AuditRow,
  type AuditStart,
  checkAuditEntry,
  checkAuditRetention,
  checkCount,
  checkLimit,
  checkPage,
  EMPTY_AUDIT_HEAD,
  type Env,
  MAX_BATCH,
  needsAudit,
  nextAuditRow,
  reportLostEntry,
  type ResolvedAuditOptions,
  startAfter,
} from "@turnstream/server/internal";
import { numberOfUser } from "./sessions.ts";
import { createPart, type MemoryTables, type Rows, table } from "./tables.ts";
import { requireTenant } from "./tenants.ts";
import { MARKS } from "./usage.ts";

const LOG = table<AuditRow>("audit_log");
const HEADS = table<AuditHead>("audit_heads");
const STARTS = table<AuditStart>("audit_starts");

export function memoryAudit(tables: MemoryTables, env: Env, options: ResolvedAuditOptions): Audit {
  const { key: auditKey, keys, onError } = options;
  const addRow = (rows: Rows, tenant: string, entry: AuditEntry): AuditRow => {
    checkAuditEntry(entry);
    const actor = entry.actor === null ? null : numberOfUser(rows, tenant, entry.actor);
    const head = rows.get(HEADS, tenant, "") ?? EMPTY_AUDIT_HEAD;
    const row = nextAuditRow(entry, { tenant, head, at: env.now(), actor, key: auditKey });
    rows.put(LOG, tenant, String(row.n), row);
    rows.put(HEADS, tenant, "", { n: row.n, hash: row.hash });
    return row;
  };
  const add = (rows: Rows, tenant: string, entry: AuditEntry): AuditRow | null => {
    try {
      return addRow(rows, tenant, entry);
    } catch (error) {
      if (needsAudit(entry)) throw error;
      reportLostEntry(error, entry, onError);
      return null;
    }
  };
  return createPart<Audit>(tables, {
    add: (rows, tenant, entry) => add(rows, tenant, entry),

    addOnce(rows, tenant, mark, entry) {
      requireTenant(rows, tenant);
      const key = `audit:${mark}`;
      if (rows.get(MARKS, tenant, key) !== undefined) return null;
      rows.put(MARKS, tenant, key, true);
      return add(rows, tenant, entry);
    },

    list(rows, tenant, { after, limit }) {
      checkCount(after, "after");
      const page: AuditRow[] = [];
      const last = rows.get(HEADS, tenant, "")?.n ?? 0;
      const most = checkPage(limit);
      for (let n = after + 1; n <= last && page.length < most; n += 1) {
        const row = rows.get(LOG, tenant, String(n));
        if (row !== undefined) page.push(row);
      }
      return page;
    },

    head: (rows, tenant) => rows.get(HEADS, tenant, "") ?? null,

    start: (rows, tenant) => rows.get(STARTS, tenant, "") ?? null,

    maintain(rows, { retentionMs, limit }) {
      const most = checkLimit(limit, MAX_BATCH);
      if (retentionMs === null) return { recorded: 0, dropped: 0 };
      const now = env.now();
      const expired = periodAt(now - checkAuditRetention(retentionMs));
      const oldest = Math.min(...rows.all(LOG).map(({ at }) => periodAt(at)));
      if (oldest >= Math.min(expired, periodAt(now))) return { recorded: 0, dropped: 0 };
      const inPeriod = rows.all(LOG).filter(({ at }) => periodAt(at) === oldest);
      const last = new Map(inPeriod.toSorted((a, b) => a.n - b.n).map((row) => [row.tenant, row]));
      const uncovered = [...last.values()].filter(
        ({ tenant, n }) => (rows.get(STARTS, tenant, "")?.n ?? 0) < n,
      );
      for (const row of uncovered.slice(0, most)) {
        const isFollowedByKeyed = rows
          .of(LOG, row.tenant)
          .some((later) => later.n > row.n && later.keyId !== null);
        rows.put(STARTS, row.tenant, "", startAfter(row, { keys, at: now, isFollowedByKeyed }));
      }
      if (uncovered.length > 0) return { recorded: Math.min(uncovered.length, most), dropped: 0 };
      for (const { tenant, n } of inPeriod) rows.remove(LOG, tenant, String(n));
      return { recorded: 0, dropped: 1 };
    },
  });
}

function periodAt(at: number): number {
  return Math.floor(at / AUDIT_PERIOD_MS);
}
