/**
 * `nextAuditRow` builds an audit row with the hash that chains it to the previous one, and `checkAuditEntry` validates
 * an entry. Pure.
 *
 * Invariant: `hashAuditRow` must compute the same hash for every stored row, or verification fails; a new format needs
 * a new version number. An entry contains only ids and numbers. A process with write access to the database can build a
 * new chain. To detect this, store a head outside the database from time to time (a checkpoint).
 */
import { createHash } from "node:crypto";
import type { Json } from "@turnstream/protocol";
import type { AuditEntry, AuditHead, AuditRow } from "../ports/audit.ts";
import { canonicalJson } from "./canonical-json.ts";
import { StoreError } from "../errors.ts";

/** The head of a chain without rows. */
export const EMPTY_AUDIT_HEAD: AuditHead = { n: 0, hash: "0".repeat(64) };

export function hashAuditRow(row: Omit<AuditRow, "hash">): string {
  const { tenant, n, at, actor, action, subject, detail, prevHash } = row;
  // The first element is the version of this format. An array keeps the fields separate.
  const form = JSON.stringify([1, tenant, n, at, actor, action, subject, detail, prevHash]);
  return createHash("sha256").update(form).digest("hex");
}

export function nextAuditRow(tenant: string, head: AuditHead, at: number, entry: AuditEntry): AuditRow {
  const row = {
    tenant,
    n: head.n + 1,
    at,
    actor: entry.actor,
    action: entry.action,
    subject: canonicalJson(entry.subject),
    detail: canonicalJson(entry.detail ?? null),
    prevHash: head.hash,
  };
  return { ...row, hash: hashAuditRow(row) };
}

/** No spaces and no @, so neither text nor email addresses match. */
const ID = /^[\w.:/-]{1,256}$/;
const ACTION = /^[a-z][a-z0-9_.]{0,63}$/;
const MAX_DETAIL = 4096;

/** Refuses values that look like content or names, where only ids and numbers are allowed. */
export function checkAuditEntry({ actor, action, subject, detail = null }: AuditEntry): void {
  const ids = Object.entries(subject).flat();
  const good =
    ACTION.test(action) &&
    ids.length <= 32 &&
    ids.every((id) => ID.test(id)) &&
    isPlain(detail) &&
    (actor === null || (Number.isSafeInteger(actor) && actor >= 0));
  if (!good) throw new StoreError("INVALID", "audit entry must contain only ids and numbers");
  if (canonicalJson(detail).length > MAX_DETAIL) throw new StoreError("TOO_LARGE", "audit detail");
}

/** True if all values are numbers, true, false, null or ids, and all field names look like ids. */
function isPlain(detail: Json): boolean {
  if (typeof detail === "string") return ID.test(detail);
  if (typeof detail === "number") return Number.isFinite(detail);
  if (typeof detail !== "object" || detail === null) return true;
  if (Array.isArray(detail)) return (detail as readonly Json[]).every(isPlain);
  return Object.entries(detail).every(([name, value]) => ID.test(name) && isPlain(value));
}
