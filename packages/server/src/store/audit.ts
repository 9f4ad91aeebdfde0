/**
 * `Audit` is the part of the store for the audit trail; `audit-sql.ts` implements it. `nextAuditRow` builds a row with
 * the hash that chains it to the previous one, and `checkAuditEntry` validates an entry. `startAfter` makes the record that
 * an audit starts after a row.
 *
 * Invariant: rows are only added, and expired ones are dropped from the start of the chain. `hashAuditRow` must compute
 * the same hash for every stored row, or verification fails; a new format needs a new version
 * number. An entry contains only ids and numbers: `toAuditId` hashes everything else, so no legal id is refused.
 * Without a key, a process with write access to the database can build a new chain. With one, it can only cut off the
 * end, which a checkpoint detects. A start is signed only after a row that the audit key protects. So a process that can
 * only write to the database can neither make a start, nor let a worker make one by changing the time of a row. Its
 * signature differs from that of a checkpoint.
 */
import type { Json } from "@turnstream/protocol";
import { createHmac, createHash } from "node:crypto";
import { isIP } from "node:net";
import { describeError } from "../util/describe-error.ts";
import type { ErrorHandler } from "../util/error-handler.ts";
import { StoreError } from "./errors.ts";
import { checkDuration } from "./rules/arguments.ts";
import type { AuditAction } from "./rules/audit-actions.ts";
import { canonicalJson } from "./rules/canonical-json.ts";

export interface AuditEntry {
  /** The id of the user, or null for an action of the system or an operator. The row has the user's number instead. */
  readonly actor: string | null;
  /** Of `AUDIT_ACTIONS`, or an action of a feature, such as `order.shipped`. */
  readonly action: AuditAction | (string & {});
  /** True if an action of a feature goes on without its entry. @default false */
  readonly isOptional?: boolean;
  /**
   * The ids of the objects of the action, by kind. An id that could be a text or an address is stored as a hash; see
   * `toAuditId`.
   */
  readonly subject: Readonly<Record<string, string>>;
  /** Numbers, true, false, null, and ids as in `subject`. At most 4 KiB of JSON. */
  readonly detail?: Json;
}

export interface AuditRow {
  readonly tenant: string;
  /** 1, 2, 3 … within the tenant. */
  readonly n: number;
  readonly at: number;
  /** A number from `userNumbers`. */
  readonly actor: number | null;
  readonly action: string;
  /** Canonical JSON text. The stored text is exactly the text that was hashed. */
  readonly subject: string;
  readonly detail: string;
  readonly prevHash: string;
  /** The id of the key of the hash, or null for a hash without a key. */
  readonly keyId: string | null;
  readonly hash: string;
}

/** A position in a chain. */
export interface AuditHead {
  readonly n: number;
  readonly hash: string;
}

/**
 * The last row that was dropped because of its age. The chain continues after it. The signature shows that a process with
 * the audit key has dropped the rows.
 */
export interface AuditStart extends AuditHead {
  readonly tenant: string;
  /** When it was recorded, in milliseconds since 1970. */
  readonly at: number;
  /** Null without a signature. */
  readonly keyId: string | null;
  /** Null if the store has no key, or if no key protects the dropped rows. */
  readonly signature: string | null;
}

export interface AuditMaintenance {
  /** Tenants whose start was moved. Their rows before it are dropped afterwards. */
  readonly recorded: number;
  /** Periods that were dropped with all their rows. */
  readonly dropped: number;
}

export interface Audit {
  /**
   * Adds the tenant's next row. The end of the tenant's chain stays locked until the transaction ends, so make this the
   * last call of a transaction. If the row of an action that ends or restricts something can't be written, the store
   * reports that and returns null: such an action never waits for the audit (`rules/audit-actions.ts`).
   * @throws StoreError if the row of an action that grants something can't be written
   */
  add(tenant: string, entry: AuditEntry): Promise<AuditRow | null>;
  /**
   * Like `add`, for actions that are too frequent for a row each. Returns null if the mark was used before.
   * @param mark such as the action, its subject and the hour. Marks are pruned with those of the usage.
   */
  addOnce(tenant: string, mark: string, entry: AuditEntry): Promise<AuditRow | null>;
  /** Returns rows in the order of `n`. */
  list(tenant: string, page: { readonly after: number; readonly limit: number }): Promise<AuditRow[]>;
  /** Returns the end of the chain, or null if the tenant has no audit rows yet. */
  head(tenant: string): Promise<AuditHead | null>;
  /** Returns after which row the chain starts, or null if no row was dropped. */
  start(tenant: string): Promise<AuditStart | null>;
  /**
   * Creates the partitions for new rows. With `retentionMs`, it also drops the rows of the oldest four weeks, when all of
   * them are that old. First it records the start of each tenant, at most `limit` tenants per call. Call it until it does
   * nothing.
   * @throws StoreError with CONFLICT if the last row before a new start was tampered with, or has an unknown key. Then
   *   nothing is dropped.
   */
  maintain(query: { readonly retentionMs: number | null; readonly limit: number }): Promise<AuditMaintenance>;
}

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

const ACTION = /^[a-z_]{1,40}\.[a-z_]{1,40}$/;

/** Refuses names of fields that look like content, and what is too large. */
export function checkAuditEntry({ action, subject, detail = null }: AuditEntry): void {
  const names = Object.keys(subject);
  const isGood =
    ACTION.test(action) &&
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

export interface AuditOptions {
  /**
   * The key of the audit's hashes: at least 32 random bytes. To replace it, write the new one before the old one,
   * separated by a comma. All processes need the same.
   * @default none: a process with write access to the database can rewrite the audit unnoticed
   */
  readonly auditKey?: string;
  /** Receives the errors of audit entries that could not be written. @default a process warning */
  readonly onError?: ErrorHandler;
}

export interface ResolvedAuditOptions {
  /** Signs new rows; null for none. */
  readonly key: AuditKey | null;
  /** All keys that rows may have. */
  readonly keys: readonly AuditKey[];
  readonly onError: ErrorHandler;
}

/** @throws RangeError if a key is too short */
export function resolveAuditOptions({ auditKey, onError = warn }: AuditOptions): ResolvedAuditOptions {
  const keys = parseAuditKeys(auditKey ?? null);
  return { key: keys[0] ?? null, keys, onError };
}

export function reportLostEntry(error: unknown, { action }: AuditEntry, onError: ErrorHandler): void {
  onError(error, { during: `the audit of ${action}` });
}

const warn: ErrorHandler = (error, { during }) =>
  process.emitWarning(`error in ${during}: ${describeError(error)}`);

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
