/**
 * `toStoreError` converts errors of PostgreSQL and its driver into StoreErrors, and `retryOnDeadlock` retries after
 * deadlocks.
 *
 * Invariant: the original error is never passed on. Its `detail` quotes rows, and rows contain content. The cause
 * contains only codes and names.
 */
import { AbortedTransactionError } from "kysely";
import type { Env } from "../../util/env.ts";
import { retry } from "../../util/retry.ts";
import { type StoreErrorCode, isStoreError, StoreError } from "../errors.ts";

/** The part of a database error that contains no value of a row. */
export interface RedactedCause {
  readonly sqlstate: string | null;
  readonly constraint: string | null;
  readonly table: string | null;
  readonly system: string | null;
}

const BY_STATE: Readonly<Record<string, StoreErrorCode>> = {
  "23505": "EXISTS",
  "23503": "NOT_FOUND",
  "23514": "INVALID",
  "25P02": "ABORTED",
  "40001": "BUSY",
  "40P01": "BUSY",
  "55P03": "BUSY",
  // A missing schema, table or column.
  "3F000": "NOT_MIGRATED",
  "42P01": "NOT_MIGRATED",
  "42703": "NOT_MIGRATED",
  // A missing permission, a standby server, and a connection that the server closed because its transaction was idle
  // too long.
  "42501": "UNAVAILABLE",
  "25006": "UNAVAILABLE",
  "25P03": "UNAVAILABLE",
};

/** By the first two characters of the SQLSTATE. */
const BY_CLASS: Readonly<Record<string, StoreErrorCode>> = {
  // A value that its column can't store.
  "22": "INVALID",
  // Lost connection, unknown role or database, no resources, operator intervention, I/O error: all are temporary or
  // need an operator.
  "08": "UNAVAILABLE",
  "28": "UNAVAILABLE",
  "3D": "UNAVAILABLE",
  "53": "UNAVAILABLE",
  "57": "UNAVAILABLE",
  "58": "UNAVAILABLE",
};

export function sqlStateOf(error: unknown): string | null {
  const cause = isStoreError(error) ? error.cause : safeCause(error);
  const { sqlstate = null } = (
    typeof cause === "object" && cause !== null ? cause : {}
  ) as Partial<RedactedCause>;
  return sqlstate;
}

/** True if the database aborted this work in favor of other work. It can be retried immediately. */
function isDeadlock(error: unknown): boolean {
  const sqlstate = sqlStateOf(error);
  return sqlstate === "40001" || sqlstate === "40P01";
}

/** The SQLSTATE of a full disk. */
const DISK_FULL = "53100";

export function toStoreError(error: unknown, what: string): StoreError {
  if (isStoreError(error)) return error;
  const cause = safeCause(error);
  const detail =
    cause.sqlstate === DISK_FULL ? `${what}: the disk of PostgreSQL is full (${DISK_FULL})` : what;
  return new StoreError(codeOf(cause), detail, cause);
}

export function isDiskFull({ cause }: StoreError): boolean {
  return (cause as RedactedCause | undefined)?.sqlstate === DISK_FULL;
}

function codeOf({ sqlstate, system }: RedactedCause): StoreErrorCode {
  if (sqlstate !== null) return BY_STATE[sqlstate] ?? BY_CLASS[sqlstate.slice(0, 2)] ?? "INTERNAL";
  if (system === "ROLLED_BACK") return "ABORTED";
  return system === "PROGRAM" ? "INTERNAL" : "UNAVAILABLE";
}

function safeCause(error: unknown): RedactedCause {
  const fields = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  const code = text(fields["code"]);
  const sqlstate = code !== null && /^[0-9A-Z]{5}$/.test(code) ? code : null;
  return {
    sqlstate,
    constraint: text(fields["constraint"]),
    table: text(fields["table"]),
    system: sqlstate === null ? systemOf(error, code) : null,
  };
}

/**
 * A TypeError or RangeError is a bug of ours. Any other error without a SQLSTATE comes from the driver: no connection.
 */
function systemOf(error: unknown, code: string | null): string {
  if (error instanceof AbortedTransactionError) return "ROLLED_BACK";
  if (error instanceof TypeError || error instanceof RangeError) return "PROGRAM";
  return code ?? "CONNECTION";
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Backoff after a deadlock. */
const DEADLOCK_RETRIES = { maxAttempts: 5, initialDelayMs: 20, maxDelayMs: 160 };

/**
 * Retries work after a deadlock. It repeats all of it, because the database has undone all of it. A lock timeout is not
 * retried: the caller has waited long enough to decide itself.
 * @param work atomic and repeatable: a transaction or a single statement
 */
export function retryOnDeadlock<T>(env: Env, work: () => Promise<T>): Promise<T> {
  const random = (): number => (env.randomBytes(1)[0] ?? 0) / 256;
  return retry(work, { ...DEADLOCK_RETRIES, isRetryable: isDeadlock, random });
}
