/** The audit in memory: the same chain, as long as the process lives. It outlives its tenant, as in PostgreSQL. */
import type { Audit } from "../ports/audit.ts";
import {
  type AuditHead,
  type AuditRow,
  checkAuditEntry,
  NO_AUDIT,
  nextAuditRow,
} from "../rules/audit.ts";
import { checkCount } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import { checkPage } from "../rules/ledger-arguments.ts";
import { type MemoryTables, table } from "./tables.ts";

const LOG = table<AuditRow>("audit_log", "none");
const HEADS = table<AuditHead>("audit_heads", "none");

export function memoryAudit(tables: MemoryTables, env: Env): Audit {
  return {
    add: (tenant, entry) =>
      tables.run((rows) => {
        checkAuditEntry(entry);
        const head = rows.get(HEADS, tenant, "") ?? NO_AUDIT;
        const row = nextAuditRow(tenant, head, env.now(), entry);
        rows.put(LOG, tenant, String(row.n), row);
        rows.put(HEADS, tenant, "", { n: row.n, hash: row.hash });
        return row;
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
