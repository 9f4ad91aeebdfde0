/**
 * `verifyAudit` and `verifyTenantAudit` check a tenant's audit for tampering, row by row, and return the first faulty
 * row.
 *
 * Invariant: they only read, and never repair. Rows are checked in the order of `n`, after the start if expired rows were
 * dropped. The head is read after the rows, so that rows that are added meanwhile are not reported as faults.
 */
import {
  type Audit,
  type AuditHead,
  type AuditKey,
  type AuditRow,
  type AuditStart,
  EMPTY_AUDIT_HEAD,
  hashAuditRow,
  hashesEqual,
  signStart,
} from "@turnstream/server/internal";

/**
 * - `changed`: the hash of the row does not fit. This row or the one before it was changed, or rows were inserted,
 *   exchanged or hashed again
 * - `missing`: the row was deleted, or the end was cut off
 * - `cut`: the rows up to this one were removed, and no audit key has signed that they had expired
 * - `unknown_key`: the row, or the start after it, names an audit key that was not passed
 * - `unkeyed`: from this row to the end no row has a keyed hash, so they may have been rewritten without the key. A
 *   process may lack the key, or the key is new: then a later keyed row or a checkpoint protects these rows.
 */
export type AuditFaultKind = "changed" | "missing" | "cut" | "unknown_key" | "unkeyed";

export interface AuditFault {
  readonly n: number;
  readonly why: AuditFaultKind;
}

export type AuditVerdict =
  | {
      readonly ok: true;
      readonly head: AuditHead;
      /** The last row that was dropped because of its age, or null for none. */
      readonly start: AuditStart | null;
    }
  | { readonly ok: false; readonly fault: AuditFault };

export interface VerifyOptions {
  /** Heads that were stored outside the database. Check their signatures first: `parseCheckpoints`. */
  readonly checkpoints?: readonly AuditHead[];
  /** All keys that rows may have. @default none: rows with a keyed hash can't be verified */
  readonly keys?: readonly AuditKey[];
}

/** Checks the start, if there is one, then the rows in the order of `n`, then the head. It must not be used after a fault. */
export class AuditChecker {
  readonly #tenant: string;
  readonly #checkpoints: ReadonlyMap<number, string>;
  readonly #lastCheckpoint: number;
  readonly #keys: readonly AuditKey[];
  #head: AuditHead = EMPTY_AUDIT_HEAD;
  #start: AuditStart | null = null;
  /** The first row after the last one with a keyed hash. A keyed row protects all rows before it. */
  #unkeyedFrom: number | null = null;

  constructor(tenant: string, { checkpoints = [], keys = [] }: VerifyOptions = {}) {
    this.#tenant = tenant;
    this.#keys = keys;
    this.#checkpoints = new Map(checkpoints.map(({ n, hash }) => [n, hash]));
    this.#lastCheckpoint = Math.max(0, ...this.#checkpoints.keys());
  }

  get head(): AuditHead {
    return this.#head;
  }

  start(start: AuditStart): AuditFault | null {
    const { n, hash, keyId } = start;
    if (keyId !== null && !this.#keys.some(({ id }) => id === keyId)) return fault(n, "unknown_key");
    if (start.tenant !== this.#tenant || (this.#keys.length > 0 && !isSignedStart(start, this.#keys)))
      return fault(n, "cut");
    const checkpoint = this.#checkpoints.get(n);
    if (checkpoint !== undefined && checkpoint !== hash) return fault(n, "changed");
    this.#head = { n, hash };
    this.#start = start;
    return null;
  }

  row(row: AuditRow): AuditFault | null {
    const n = this.#head.n + 1;
    if (row.n > n) return fault(n, "missing");
    if (row.n < n) return fault(row.n, "changed");
    const key = row.keyId === null ? null : this.#keys.find(({ id }) => id === row.keyId);
    if (key === undefined) return fault(n, "unknown_key");
    const follows = row.tenant === this.#tenant && row.prevHash === this.#head.hash;
    const checkpoint = this.#checkpoints.get(n) ?? row.hash;
    if (!follows || hashAuditRow(row, key) !== row.hash || checkpoint !== row.hash)
      return fault(n, "changed");
    this.#head = { n, hash: row.hash };
    this.#unkeyedFrom = key === null ? (this.#unkeyedFrom ?? n) : null;
    return null;
  }

  /** @param found what `start`, `row` or `end` returned last */
  verdict(found: AuditFault | null): AuditVerdict {
    return found === null ? { ok: true, head: this.#head, start: this.#start } : { ok: false, fault: found };
  }

  end(head: AuditHead | null): AuditFault | null {
    const { n, hash } = this.#head;
    const given = head ?? EMPTY_AUDIT_HEAD;
    // Also if there is no head, because the end of the audit was removed then.
    if ((head === null && n > 0) || given.n > n || this.#lastCheckpoint > n) return fault(n + 1, "missing");
    if (given.n < n) return fault(given.n + 1, "changed");
    if (given.hash !== hash) return fault(n, "changed");
    const isUnprotected = this.#keys.length > 0 && this.#unkeyedFrom !== null && this.#lastCheckpoint < n;
    return isUnprotected
      ? fault(Math.max(this.#unkeyedFrom ?? n, this.#lastCheckpoint + 1), "unkeyed")
      : null;
  }
}

/** @param rows in the order of n */
export async function verifyAudit(
  tenant: string,
  rows: AsyncIterable<AuditRow> | Iterable<AuditRow>,
  head: AuditHead | null,
  options: VerifyOptions = {},
): Promise<AuditVerdict> {
  const checker = new AuditChecker(tenant, options);
  for await (const row of rows) {
    const found = checker.row(row);
    if (found !== null) return checker.verdict(found);
  }
  return checker.verdict(checker.end(head));
}

/** Verifies the whole audit of a tenant, page by page, while rows may be added and expired ones dropped. */
export async function verifyTenantAudit(
  audit: Audit,
  tenant: string,
  options: VerifyOptions = {},
): Promise<AuditVerdict> {
  for (;;) {
    const start = await audit.start(tenant);
    const checker = new AuditChecker(tenant, options);
    const found =
      (start === null ? null : checker.start(start)) ?? (await checkStored(checker, audit, tenant));
    // Rows that were dropped meanwhile seem to be missing.
    if (found === null || (await audit.start(tenant))?.n === start?.n) return checker.verdict(found);
  }
}

async function checkStored(checker: AuditChecker, audit: Audit, tenant: string): Promise<AuditFault | null> {
  for (;;) {
    const page = await audit.list(tenant, { after: checker.head.n, limit: 1000 });
    for (const row of page) {
      const found = checker.row(row);
      if (found !== null) return found;
    }
    if (page.length > 0) continue;
    // Read after the rows: it is behind them only if it was set back.
    const head = await audit.head(tenant);
    const grown = head !== null && head.n > checker.head.n;
    // Either rows were added meanwhile, or the rows that the head counts were deleted.
    if (grown && (await audit.list(tenant, { after: checker.head.n, limit: 1 })).length > 0) continue;
    return checker.end(head);
  }
}

function fault(n: number, why: AuditFaultKind): AuditFault {
  return { n, why };
}

function isSignedStart(start: AuditStart, keys: readonly AuditKey[]): boolean {
  const key = keys.find(({ id }) => id === start.keyId);
  if (key === undefined || start.signature === null) return false;
  return hashesEqual(Buffer.from(start.signature), Buffer.from(signStart(start, key)));
}
