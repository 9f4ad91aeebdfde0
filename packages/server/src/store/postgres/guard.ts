/**
 * Turns what PostgreSQL and its driver throw into StoreErrors. The original never leaves: its `detail` quotes
 * rows, and rows are content. What is kept as the cause is codes and names.
 */
import { isStoreError, StoreError, type StoreErrorCode } from "../errors.ts";

/** What may be known of an error of the database: never a value from a row. */
interface SafeCause {
  readonly sqlstate: string | null;
  readonly constraint: string | null;
  readonly table: string | null;
  readonly system: string | null;
}

const BY_STATE: Readonly<Record<string, StoreErrorCode>> = {
  "23505": "EXISTS",
  "23503": "NOT_FOUND",
  "23514": "INVALID",
  "22021": "INVALID",
  "22P05": "INVALID",
  "40001": "BUSY",
  "40P01": "BUSY",
  "55P03": "BUSY",
};

/** Connection lost, out of resources, operator at work, I/O: all of them pass or need an operator. */
const UNAVAILABLE_CLASSES = new Set(["08", "53", "57", "58"]);

export function toStoreError(error: unknown, what: string): StoreError {
  if (isStoreError(error)) return error;
  const cause = safeCause(error);
  return new StoreError(codeOf(cause), what, cause);
}

function codeOf({ sqlstate, system }: SafeCause): StoreErrorCode {
  if (sqlstate === null) return system === "PROGRAM" ? "INTERNAL" : "UNAVAILABLE";
  return BY_STATE[sqlstate] ?? (UNAVAILABLE_CLASSES.has(sqlstate.slice(0, 2)) ? "UNAVAILABLE" : "INTERNAL");
}

function safeCause(error: unknown): SafeCause {
  const fields = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  const code = text(fields["code"]);
  const sqlstate = code !== null && /^[0-9A-Z]{5}$/.test(code) ? code : null;
  // A TypeError or RangeError is ours; what else comes without a state is the driver's: no connection.
  const program = error instanceof TypeError || error instanceof RangeError;
  return {
    sqlstate,
    constraint: text(fields["constraint"]),
    table: text(fields["table"]),
    system: sqlstate === null ? (program ? "PROGRAM" : (code ?? "CONNECTION")) : null,
  };
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** The same sub-port, every method of which throws nothing but StoreErrors. */
export function guarded<Port extends object>(name: string, port: Port): Port {
  const entries = Object.entries(port).map(([method, work]) => {
    const call = work as (...args: unknown[]) => Promise<unknown>;
    const safe = async (...args: unknown[]) => {
      try {
        return await call(...args);
      } catch (error) {
        throw toStoreError(error, `${name}.${method}`);
      }
    };
    return [method, safe];
  });
  return Object.fromEntries(entries) as Port;
}
