/**
 * The rows of the audit and how each is bound to the one before it. Pure.
 * Whoever can write to the database can make a new chain: keep a head elsewhere now and then (a checkpoint).
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
  // The leading number is the version of this form. An array, so that no field can run into its neighbour.
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

/** No spaces, no @: neither words nor addresses of people. */
const ID = /^[\w.:/-]{1,256}$/;
const ACTION = /^[a-z][a-z0-9_.]{0,63}$/;
const MAX_DETAIL = 4096;

/** Refuses what looks like content, or like somebody's name, where ids and numbers belong. */
export function checkAuditEntry({ actor, action, subject, detail = null }: AuditEntry): void {
  const ids = Object.entries(subject).flat();
  const good =
    ACTION.test(action) &&
    ids.length <= 32 &&
    ids.every((id) => ID.test(id)) &&
    isPlain(detail) &&
    (actor === null || (Number.isSafeInteger(actor) && actor >= 0));
  if (!good) throw new StoreError("INVALID", "audit entry");
  if (canonicalJson(detail).length > MAX_DETAIL) throw new StoreError("TOO_LARGE", "audit detail");
}

/** Whether everything in it is a number, true, false, null or an id, under names that look like ids. */
function isPlain(detail: Json): boolean {
  if (typeof detail === "string") return ID.test(detail);
  if (typeof detail === "number") return Number.isFinite(detail);
  if (typeof detail !== "object" || detail === null) return true;
  if (Array.isArray(detail)) return (detail as readonly Json[]).every(isPlain);
  return Object.entries(detail).every(([name, value]) => ID.test(name) && isPlain(value));
}
