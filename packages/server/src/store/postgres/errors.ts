/**
 * Turns what PostgreSQL and its driver throw into StoreErrors. The original never leaves: its `detail` quotes
 * rows, and rows are content. What is kept as the cause is codes and names.
 */
import { AbortedTransactionError } from "kysely";
import type { Env } from "../../util/env.ts";
import { retry } from "../../util/retry.ts";
import { isStoreError, StoreError, type StoreErrorCode } from "../errors.ts";

/** What may be known of an error of the database: never a value from a row. */
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
  // A schema, a table or a column that isn't there.
  "3F000": "NOT_MIGRATED",
  "42P01": "NOT_MIGRATED",
  "42703": "NOT_MIGRATED",
  // A right that was not granted, a standby, and a connection that was ended because it did nothing in its transaction
  // for too long.
  "42501": "UNAVAILABLE",
  "25006": "UNAVAILABLE",
  "25P03": "UNAVAILABLE",
};

/** By the first two characters of the state. */
const BY_CLASS: Readonly<Record<string, StoreErrorCode>> = {
  // A value that its column can't hold.
  "22": "INVALID",
  // Connection lost, no such login or database, out of resources, operator at work, I/O: all of them pass or need
  // an operator.
  "08": "UNAVAILABLE",
  "28": "UNAVAILABLE",
  "3D": "UNAVAILABLE",
  "53": "UNAVAILABLE",
  "57": "UNAVAILABLE",
  "58": "UNAVAILABLE",
};

/** Whether two got in each other's way, and the database let the other through: this one can try again at once. */
function isDeadlock(error: unknown): boolean {
  const cause = isStoreError(error) ? error.cause : safeCause(error);
  const { sqlstate = null } = (
    typeof cause === "object" && cause !== null ? cause : {}
  ) as Partial<RedactedCause>;
  return sqlstate === "40001" || sqlstate === "40P01";
}

export function toStoreError(error: unknown, what: string): StoreError {
  if (isStoreError(error)) return error;
  const cause = safeCause(error);
  return new StoreError(codeOf(cause), what, cause);
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

/** A TypeError or RangeError is ours; what else comes without a state is the driver's: no connection. */
function systemOf(error: unknown, code: string | null): string {
  if (error instanceof AbortedTransactionError) return "ROLLED_BACK";
  if (error instanceof TypeError || error instanceof RangeError) return "PROGRAM";
  return code ?? "CONNECTION";
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/**
 * Tries work again that collided with other work (a deadlock): all of it, since the database has undone all of it.
 * What has waited in vain for a lock is not tried again: its caller has waited long enough to decide.
 */
const DEADLOCK_RETRIES = { maxAttempts: 5, initialDelayMs: 20, maxDelayMs: 160 };

/** @param work all or nothing, and repeatable: a transaction or a single statement */
export function retryOnDeadlock<T>(env: Env, work: () => Promise<T>): Promise<T> {
  const random = (): number => (env.randomBytes(1)[0] ?? 0) / 256;
  return retry(work, { ...DEADLOCK_RETRIES, isRetryable: isDeadlock, random });
}
