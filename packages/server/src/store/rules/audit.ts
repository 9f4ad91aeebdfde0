/**
 * `nextAuditRow` builds an audit row with the hash that chains it to the previous one, and `checkAuditEntry` validates
 * an entry. Pure.
 *
 * Invariant: `hashAuditRow` must compute the same hash for every stored row, or verification fails; a new format needs
 * a new version number. An entry contains only ids and numbers: `toAuditId` hashes everything else, so no legal id is
 * refused. Without a key, a process with write access to the database can build a new chain. With one, it can only cut
 * off the end, which a checkpoint (`audit-checkpoint.ts`) detects.
 */
import { createHash, createHmac } from "node:crypto";
import { isIP } from "node:net";
import type { Json } from "@turnstream/protocol";
import type { AuditEntry, AuditHead, AuditRow } from "../ports/audit.ts";
import { isAuditAction } from "./audit-actions.ts";
import { canonicalJson } from "./canonical-json.ts";
import { StoreError } from "../errors.ts";

/** The head of a chain without rows. */
export const EMPTY_AUDIT_HEAD: AuditHead = { n: 0, hash: "0".repeat(64) };

/** A key of the audit. Its id is derived from it, so that each row can name its key. */
export interface AuditKey {
  readonly id: string;
  readonly secret: string;
}

const KEY_ID_LENGTH = 16;
const MIN_AUDIT_KEY_BYTES = 32;

/**
 * Reads a list of keys, separated by commas. The first signs, all of them verify, so that keys can be replaced.
 * @throws RangeError if a key has less than 32 bytes
 */
export function parseAuditKeys(text: string | null): readonly AuditKey[] {
  if (text === null) return [];
  return text.split(",").map((part) => {
    const secret = part.trim();
    if (Buffer.byteLength(secret) < MIN_AUDIT_KEY_BYTES)
      throw new RangeError(`each audit key must have at least ${MIN_AUDIT_KEY_BYTES} bytes of random data`);
    return { id: mac(secret, "audit key").slice(0, KEY_ID_LENGTH), secret };
  });
}

/** HMAC-SHA-256 in hexadecimal. */
export function mac(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}

/** @param key the key with the row's `keyId`; null for a row without one */
export function hashAuditRow(row: Omit<AuditRow, "hash">, key: AuditKey | null): string {
  const { tenant, n, at, actor, action, subject, detail, prevHash, keyId } = row;
  const fields = [tenant, n, at, actor, action, subject, detail, prevHash];
  // The first element is the version of this format. An array keeps the fields separate.
  if (key !== null) return mac(key.secret, JSON.stringify([2, keyId, ...fields]));
  return createHash("sha256")
    .update(JSON.stringify([1, ...fields]))
    .digest("hex");
}

interface AuditRowContext {
  readonly tenant: string;
  readonly head: AuditHead;
  readonly at: number;
  /** The number of `entry.actor`. */
  readonly actor: number | null;
  /** Null if the store has none. */
  readonly key: AuditKey | null;
}

export function nextAuditRow(entry: AuditEntry, { tenant, head, at, actor, key }: AuditRowContext): AuditRow {
  const row = {
    tenant,
    n: head.n + 1,
    at,
    actor,
    action: entry.action,
    subject: canonicalJson(toPlain(entry.subject, key)),
    detail: canonicalJson(toPlain(entry.detail ?? null, key)),
    prevHash: head.hash,
    keyId: key?.id ?? null,
  };
  return { ...row, hash: hashAuditRow(row, key) };
}

/** No spaces and no @, so neither text nor email addresses match. */
const PLAIN_ID = /^[\w.:/-]{1,256}$/;
const HASH_LENGTH = 32;
const MAX_IDS = 32;
const MAX_DETAIL = 4096;

/**
 * Returns an id as the audit stores it. An id that could be a text, a mail address or a network address becomes a hash,
 * because audit rows stay when a user is erased. The same id has the same hash as long as the key is the same.
 */
export function toAuditId(id: string, key: AuditKey | null): string {
  if (PLAIN_ID.test(id) && isIP(id) === 0) return id;
  const text = `audit id:${id}`;
  const hash = key === null ? createHash("sha256").update(text).digest("hex") : mac(key.secret, text);
  return `hash:${hash.slice(0, HASH_LENGTH)}`;
}

function toPlain(value: Json, key: AuditKey | null): Json {
  if (typeof value === "string") return toAuditId(value, key);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => toPlain(item, key));
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, toPlain(field, key)]));
}

/** Refuses an unknown action, names of fields that look like content, and what is too large. */
export function checkAuditEntry({ action, subject, detail = null }: AuditEntry): void {
  const names = Object.keys(subject);
  const isGood =
    isAuditAction(action) &&
    names.length <= MAX_IDS &&
    names.every((name) => PLAIN_ID.test(name)) &&
    Object.values(subject).every((id) => typeof id === "string") &&
    isPlain(detail);
  if (!isGood) throw new StoreError("INVALID", "audit entry must contain only ids and numbers");
  if (canonicalJson(detail).length > MAX_DETAIL) throw new StoreError("TOO_LARGE", "audit detail");
}

/** True if all numbers are finite and all field names look like ids. */
function isPlain(detail: Json): boolean {
  if (typeof detail === "number") return Number.isFinite(detail);
  if (typeof detail !== "object" || detail === null) return true;
  if (Array.isArray(detail)) return (detail as readonly Json[]).every(isPlain);
  return Object.entries(detail).every(([name, value]) => PLAIN_ID.test(name) && isPlain(value));
}
