/**
 * Looks for tampering with a tenant's audit, row by row, and names the first row that isn't what it was. Pure but
 * for reading; never repairs anything.
 */
import type { Audit, AuditHead, AuditRow } from "../ports/audit.ts";
import { hashAuditRow, EMPTY_AUDIT_HEAD } from "./audit.ts";

/**
 * - `missing`: the row was deleted (also: cut off at the end)
 * - `edited`: a field of the row was changed
 * - `moved`: the row in this place was in another (`was`): rows were exchanged, or one before was taken out
 * - `inserted`: the row was put between others, or after the end
 * - `rewritten`: the row was changed together with its hash; the next row, the head or a checkpoint tells
 * - `headless`: there are rows up to this one, and no head
 */
export type AuditFaultKind = "missing" | "edited" | "moved" | "inserted" | "rewritten" | "headless";

export interface AuditFault {
  readonly n: number;
  readonly why: AuditFaultKind;
  /** Where the row was, if it was moved. */
  readonly was: number | null;
}

export type AuditVerdict =
  | { readonly ok: true; readonly head: AuditHead }
  | { readonly ok: false; readonly fault: AuditFault };

/** How far from its place a row that was moved is looked for. */
const NEAR = 1000;

/** Takes the rows one by one, in the order of n, then the head. After a fault it is of no use. */
export class AuditChecker {
  readonly #tenant: string;
  readonly #checkpoints: ReadonlyMap<number, string>;
  readonly #lastCheckpoint: number;
  #head: AuditHead = EMPTY_AUDIT_HEAD;

  /** @param checkpoints heads that were kept outside the database */
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
    // This row vouches for the hash it was chained to, so it is the one before that changed.
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

/** The whole audit of a tenant, page by page, while others may be adding to it. */
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
    // Read after the rows, so that it is behind them only if somebody set it back.
    const head = await audit.head(tenant);
    const grown = head !== null && head.n > checker.head.n;
    // Either rows were added in the meantime, or the rows that the head counts are gone.
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
      // A row that stands later than it did made room for another.
      return was < row.n ? fault(was, "inserted") : { n: row.n, why: "moved", was };
    }
  }
  return fault(row.n, "edited");
}

function fault(n: number, why: AuditFaultKind): AuditFault {
  return { n, why, was: null };
}
