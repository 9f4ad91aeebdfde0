/**
 * `verifyAudit` and `verifyTenantAudit` check a tenant's audit for tampering, row by row, and return the first faulty
 * row.
 *
 * Invariant: they only read, and never repair. Rows are checked in the order of `n`. The head is read after the rows,
 * so that rows that are added meanwhile are not reported as faults.
 */
import type { Audit, AuditHead, AuditRow } from "../ports/audit.ts";
import { hashAuditRow, EMPTY_AUDIT_HEAD } from "./audit.ts";

/**
 * - `missing`: the row was deleted, or the end was cut off
 * - `edited`: a field of the row was changed
 * - `moved`: the row was at another position (`was`): rows were exchanged, or an earlier row was removed
 * - `inserted`: the row was inserted between others, or after the end
 * - `rewritten`: the row was changed together with its hash, which the next row, the head or a checkpoint reveals
 * - `headless`: there are rows up to this one, but no head
 */
export type AuditFaultKind = "missing" | "edited" | "moved" | "inserted" | "rewritten" | "headless";

export interface AuditFault {
  readonly n: number;
  readonly why: AuditFaultKind;
  /** The original position of a moved row. */
  readonly was: number | null;
}

export type AuditVerdict =
  | { readonly ok: true; readonly head: AuditHead }
  | { readonly ok: false; readonly fault: AuditFault };

/** How far from its position a moved row is searched. */
const NEAR = 1000;

/** Checks the rows one by one in the order of `n`, then the head. It must not be used after a fault. */
export class AuditChecker {
  readonly #tenant: string;
  readonly #checkpoints: ReadonlyMap<number, string>;
  readonly #lastCheckpoint: number;
  #head: AuditHead = EMPTY_AUDIT_HEAD;

  /** @param checkpoints heads that were stored outside the database */
  constructor(tenant: string, checkpoints: readonly AuditHead[] = []) {
    this.#tenant = tenant;
    this.#checkpoints = new Map(checkpoints.map(({ n, hash }) => [n, hash]));
    this.#lastCheckpoint = Math.max(0, ...this.#checkpoints.keys());
  }

  get head(): AuditHead {
    return this.#head;
  }

  row(row: AuditRow): AuditFault | null {
    const n = this.#head.n + 1;
    if (row.n > n) return fault(n, "missing");
    if (row.n < n) return fault(row.n, "inserted");
    if (row.tenant !== this.#tenant || hashAuditRow(row) !== row.hash) return changed(row, this.#tenant);
    // This row's hash covers the hash it was chained to, so the row before it was changed.
    if (row.prevHash !== this.#head.hash) return fault(Math.max(1, n - 1), "rewritten");
    const checkpoint = this.#checkpoints.get(n);
    if (checkpoint !== undefined && checkpoint !== row.hash) return fault(n, "rewritten");
    this.#head = { n, hash: row.hash };
    return null;
  }

  end(head: AuditHead | null): AuditFault | null {
    const { n, hash } = this.#head;
    const given = head ?? EMPTY_AUDIT_HEAD;
    if (given.n > n || this.#lastCheckpoint > n) return fault(n + 1, "missing");
    if (head === null && n > 0) return fault(n, "headless");
    if (given.n < n) return fault(given.n + 1, "inserted");
    return given.hash === hash ? null : fault(n, "rewritten");
  }
}

/** @param rows in the order of n */
export async function verifyAudit(
  tenant: string,
  rows: AsyncIterable<AuditRow> | Iterable<AuditRow>,
  head: AuditHead | null,
  checkpoints: readonly AuditHead[] = [],
): Promise<AuditVerdict> {
  const checker = new AuditChecker(tenant, checkpoints);
  for await (const row of rows) {
    const found = checker.row(row);
    if (found !== null) return { ok: false, fault: found };
  }
  return verdict(checker, checker.end(head));
}

/** Verifies the whole audit of a tenant, page by page, while rows may be added. */
export async function verifyTenantAudit(
  audit: Audit,
  tenant: string,
  checkpoints: readonly AuditHead[] = [],
): Promise<AuditVerdict> {
  const checker = new AuditChecker(tenant, checkpoints);
  for (;;) {
    const page = await audit.list(tenant, { after: checker.head.n, limit: 1000 });
    for (const row of page) {
      const found = checker.row(row);
      if (found !== null) return { ok: false, fault: found };
    }
    if (page.length > 0) continue;
    // Read after the rows: it is behind them only if it was set back.
    const head = await audit.head(tenant);
    const grown = head !== null && head.n > checker.head.n;
    // Either rows were added meanwhile, or the rows that the head counts were deleted.
    if (grown && (await audit.list(tenant, { after: checker.head.n, limit: 1 })).length > 0) continue;
    return verdict(checker, checker.end(head));
  }
}

function verdict(checker: AuditChecker, found: AuditFault | null): AuditVerdict {
  return found === null ? { ok: true, head: checker.head } : { ok: false, fault: found };
}

function changed(row: AuditRow, tenant: string): AuditFault {
  for (let distance = 1; distance <= NEAR && row.tenant === tenant; distance += 1) {
    for (const was of [row.n + distance, row.n - distance]) {
      if (was < 1 || hashAuditRow({ ...row, n: was }) !== row.hash) continue;
      // A row that is later than its original position was shifted by an inserted row.
      return was < row.n ? fault(was, "inserted") : { n: row.n, why: "moved", was };
    }
  }
  return fault(row.n, "edited");
}

function fault(n: number, why: AuditFaultKind): AuditFault {
  return { n, why, was: null };
}
