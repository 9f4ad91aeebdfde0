/**
 * `startAfter` makes the record that an audit starts after a row.
 * `checkAuditRetention` validates how long rows are stored. Pure.
 *
 * Invariant: a start is signed only after a row that the audit key protects. So a process that can only write to the
 * database can neither make a start, nor let a worker make one by changing the time of a row. The signature differs from
 * that of a checkpoint, so a checkpoint is no start. A changed format needs a new version number.
 */
import { StoreError } from "../errors.ts";
import type { AuditRow, AuditStart } from "../audit.ts";
import { checkDuration } from "./arguments.ts";
import { type AuditKey, hashAuditRow, mac } from "../audit.ts";

/** The audit is dropped in spans of this length. The functions of the database have it too. */
export const AUDIT_PERIOD_MS = 28 * 24 * 60 * 60 * 1_000;

/** @throws StoreError with INVALID if it is shorter than four weeks. The database refuses to drop younger rows */
export function checkAuditRetention(retentionMs: number): number {
  if (checkDuration(retentionMs, "retentionMs") < AUDIT_PERIOD_MS)
    throw new StoreError("INVALID", "retentionMs of the audit must be at least four weeks");
  return retentionMs;
}

interface StartContext {
  /** All keys that rows may have. The first one signs. */
  readonly keys: readonly AuditKey[];
  readonly at: number;
  /** True if a later row of the chain has a keyed hash, which also covers this row. */
  readonly isFollowedByKeyed: boolean;
}

/** @throws StoreError with CONFLICT if the row was changed, or has an unknown key */
export function startAfter(row: AuditRow, { keys, at, isFollowedByKeyed }: StartContext): AuditStart {
  const { tenant, n, hash, keyId } = row;
  const key = keyId === null ? null : keys.find(({ id }) => id === keyId);
  if (key === undefined || hashAuditRow(row, key) !== hash)
    throw new StoreError("CONFLICT", `row ${n} of the audit of tenant ${tenant}`);
  const [signing] = keys;
  if (signing === undefined || (key === null && !isFollowedByKeyed))
    return { tenant, n, hash, at, keyId: null, signature: null };
  const unsigned = { tenant, n, hash, at, keyId: signing.id };
  return { ...unsigned, signature: signStart(unsigned, signing) };
}

/** The signature of a start that the key signs. */
export function signStart(start: Omit<AuditStart, "signature">, { secret }: AuditKey): string {
  const { tenant, n, hash, at, keyId } = start;
  return mac(secret, JSON.stringify(["start", 1, tenant, n, hash, at, keyId]));
}
