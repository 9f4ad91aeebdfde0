/**
 * `memoryAudit` and `memoryUsage` implement the audit and the usage ledger in memory.
 *
 * Invariant: an audit row and the head that it moves are stored in one `tables.run`. The audit's tables have no owner,
 * so the audit outlives its tenant, as in PostgreSQL. A usage key is counted once.
 */
import type { Env } from "../../util/env.ts";
import {
  type Audit,
  type AuditEntry,
  type AuditHead,
  type AuditRow,
  MAX_USAGE,
  type UsageDay,
  type UsageLedger,
} from "../ports/audit.ts";
import { checkCount, checkDuration } from "../rules/arguments.ts";
import { needsAudit } from "../rules/audit-actions.ts";
import { type ResolvedAuditOptions, reportLostEntry } from "../audit-options.ts";
import { checkAuditEntry, nextAuditRow, EMPTY_AUDIT_HEAD } from "../rules/audit.ts";
import { checkDay, checkPage, checkUsage } from "../rules/ledger-arguments.ts";
import { compareText } from "./session-rows.ts";
import { numberOfUser } from "./sessions.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";
import { requireTenant } from "./tenants.ts";

const LOG = table<AuditRow>("audit_log", "none");
const HEADS = table<AuditHead>("audit_heads", "none");

export function memoryAudit(tables: MemoryTables, env: Env, options: ResolvedAuditOptions): Audit {
  const { key, onError } = options;
  const addRow = (rows: Rows, tenant: string, entry: AuditEntry): AuditRow => {
    checkAuditEntry(entry);
    const actor = entry.actor === null ? null : numberOfUser(rows, tenant, entry.actor);
    const head = rows.get(HEADS, tenant, "") ?? EMPTY_AUDIT_HEAD;
    const row = nextAuditRow(entry, { tenant, head, at: env.now(), actor, key });
    rows.put(LOG, tenant, String(row.n), row);
    rows.put(HEADS, tenant, "", { n: row.n, hash: row.hash });
    return row;
  };
  const add = async (tenant: string, entry: AuditEntry): Promise<AuditRow | null> => {
    try {
      return await tables.run((rows) => addRow(rows, tenant, entry));
    } catch (error) {
      if (needsAudit(entry.action)) throw error;
      reportLostEntry(error, entry, onError);
      return null;
    }
  };
  return {
    add,

    addOnce: (tenant, mark, entry) =>
      tables.transaction(async (inner) => {
        const isNew = await inner.run((rows) => {
          requireTenant(rows, tenant);
          const marked = `audit:${mark}`;
          if (rows.get(MARKS, tenant, marked) !== undefined) return false;
          rows.put(MARKS, tenant, marked, { tenant, key: marked, at: env.now() });
          return true;
        });
        return isNew ? await memoryAudit(inner, env, options).add(tenant, entry) : null;
      }),

    list: (tenant, { after, limit }) =>
      tables.run((rows) => {
        checkCount(after, "after");
        const page: AuditRow[] = [];
        const last = rows.get(HEADS, tenant, "")?.n ?? 0;
        const until = Math.min(after + checkPage(limit), last);
        for (let n = after + 1; n <= until; n += 1) {
          const row = rows.get(LOG, tenant, String(n));
          if (row !== undefined) page.push(row);
        }
        return page;
      }),

    head: (tenant) => tables.run((rows) => rows.get(HEADS, tenant, "") ?? null),
  };
}

const DAYS = table<UsageDay>("usage_days", "tenant");
const MARKS = table<{ readonly tenant: string; readonly key: string; readonly at: number }>(
  "usage_marks",
  "tenant",
);

export function memoryUsage(tables: MemoryTables, env: Env): UsageLedger {
  return {
    add: (tenant, usage) =>
      tables.run((rows) => {
        const model = checkUsage(usage);
        requireTenant(rows, tenant);
        const { key, day = new Date(env.now()).toISOString().slice(0, 10) } = usage;
        if (rows.get(MARKS, tenant, key) !== undefined) return false;
        rows.put(MARKS, tenant, key, { tenant, key, at: env.now() });
        const place = JSON.stringify([day, model]);
        const before = rows.get(DAYS, tenant, place);
        rows.put(DAYS, tenant, place, {
          day,
          model,
          turns: sum(before?.turns, usage.turns),
          calls: sum(before?.calls, usage.calls),
          input_tokens: sum(before?.input_tokens, usage.input_tokens),
          output_tokens: sum(before?.output_tokens, usage.output_tokens),
          total_tokens: sum(before?.total_tokens, usage.total_tokens),
        });
        return true;
      }),

    list: (tenant, from, to) =>
      tables.run((rows) => {
        checkDay(from);
        checkDay(to);
        const inside = rows.of(DAYS, tenant).filter(({ day }) => day >= from && day <= to);
        return inside.toSorted((a, b) => compareText(a.day, b.day) || compareText(a.model, b.model));
      }),

    pruneMarks: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        const old = rows
          .all(MARKS)
          .filter(({ at }) => at <= before)
          .slice(0, checkPage(limit));
        for (const { tenant, key } of old) rows.remove(MARKS, tenant, key);
        return old.length;
      }),
  };
}

function sum(before: number | undefined, more: number): number {
  return Math.min((before ?? 0) + more, MAX_USAGE);
}
