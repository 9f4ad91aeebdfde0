/**
 * `resolveAuditOptions` reads the audit options of both stores, and `reportLostEntry` reports an entry that could not be
 * written although its action happened.
 *
 * Invariant: a report has no ids of the entry. Keys are validated before the store is used.
 */
import { describeError } from "../util/describe-error.ts";
import type { ErrorHandler } from "../util/error-handler.ts";
import type { AuditEntry } from "./ports/audit.ts";
import { type AuditKey, parseAuditKeys } from "./rules/audit.ts";

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
