/**
 * `checkArguments` and the other checks validate arguments of the store.
 *
 * Invariant: both stores call `checkArguments` before every method, so every method accepts the same ids. The checks
 * throw only StoreErrors, which name the argument and never contain its value.
 */
import { type Cursor, type Json, type Position, parseCursor } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import { isId, ID_RULE, SESSION_ID_PATTERN, SESSION_ID_RULE } from "../../util/names.ts";
import { StoreError } from "../errors.ts";

/** Maximum size of a page. */
export const MAX_PAGE = 100;

/** Maximum size of a batch. */
export const MAX_BATCH = 1000;

/** Checks the size of a page or batch: a whole number from 1 to `most`. */
export function checkLimit(limit: number, most: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= most) return limit;
  throw new StoreError("INVALID", `limit must be a whole number from 1 to ${most}`);
}

export function checkCount(value: number, name: string): number {
  if (Number.isSafeInteger(value) && value >= 0 && value < 1e15) return value;
  throw new StoreError("INVALID", `${name} must be a whole number from 0 to 10^15 - 1`);
}

export function checkCursor(cursor: Cursor, name: string): Position {
  const position = parseCursor(cursor);
  if (position === null) throw new StoreError("INVALID", `${name} must be a cursor`);
  return position;
}

/** A hundred years. Beyond that, PostgreSQL and JavaScript represent times differently. */
export const MAX_DURATION_MS = 100 * 365 * 24 * 60 * 60 * 1000;

/** Checks a duration in milliseconds. */
export function checkDuration(ms: number, name: string): number {
  if (Number.isSafeInteger(ms) && ms >= 0 && ms <= MAX_DURATION_MS) return ms;
  throw new StoreError("INVALID", `${name} must be a whole number of milliseconds, at most a hundred years`);
}

/** The last moment with a four-digit year. */
const MAX_TIME = Date.UTC(9999, 11, 31);

/** Checks a time in milliseconds since 1970. */
export function checkTime(time: number, name: string): number {
  if (Number.isSafeInteger(time) && time >= 0 && time <= MAX_TIME) return time;
  throw new StoreError("INVALID", `${name} must be a time in milliseconds since 1970, before the year 9999`);
}

export function checkId(id: string, name: string): string {
  if (isId(id)) return id;
  throw new StoreError("INVALID", `${name} must have ${ID_RULE}`);
}

/** Checks the id of a new session. The log must accept it too, or the session's log could never be erased. */
export function checkSessionId(id: string): string {
  if (SESSION_ID_PATTERN.test(id)) return id;
  throw new StoreError("INVALID", `session id must be ${SESSION_ID_RULE}`);
}

/**
 * Checks a short text for its own column, such as a title, and replaces lone surrogates, which UTF-8 can't encode. Not
 * for values that are used in lookups.
 */
export function checkText(text: string, name: string): string {
  if (text.length <= 500 && !text.includes("\0")) return Buffer.from(text).toString();
  throw new StoreError("INVALID", `${name} must have at most 500 characters, without NUL`);
}

/** @returns the value as JSON */
export function checkJson(value: Json, name: string, maxBytes: number): string {
  // `JSON.stringify` returns undefined for values that are not JSON, such as a function.
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new StoreError("INVALID", `${name} must be JSON`);
  if (Buffer.byteLength(json) > maxBytes) throw new StoreError("TOO_LARGE", name);
  return json;
}

/** String arguments that are not ids, by method and argument index. */
const NOT_IDS: Readonly<Record<string, number>> = { "sessions.rename": 2, "keys.verify": 0 };

/**
 * Checks every id in the arguments of a call, including those in its `Actor`s and `SessionRef`s. One place checks all
 * methods, so that no method accepts an id that another method could not have stored.
 */
export function checkArguments(method: string, args: readonly unknown[]): void {
  args.forEach((arg, n) => {
    if (NOT_IDS[method] === n || typeof arg === "function") return;
    if (typeof arg === "string") checkId(arg, `an id argument of ${method}`);
    else if (Array.isArray(arg)) checkArguments(method, arg);
    else if (typeof arg === "object" && arg !== null) {
      const { tenant, user, session } = arg as Readonly<Record<string, unknown>>;
      for (const [name, id] of Object.entries({ tenant, user, session }))
        if (typeof id === "string") checkId(id, name);
    }
  });
}

const EPOCHS = 2 ** 32;

/** Returns the given first epoch of a session, or a random one of about four billion. */
export function firstEpoch(given: number | undefined, env: Env): number {
  if (given === undefined) {
    const bytes = env.randomBytes(4);
    return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0) || 1;
  }
  if (Number.isSafeInteger(given) && given >= 1 && given < EPOCHS) return given;
  throw new StoreError("INVALID", "firstEpoch must be a whole number from 1 to 2^32 - 1");
}

export function checkIds(ids: Readonly<Record<string, string | undefined>>, of: string): void {
  for (const [name, id] of Object.entries(ids)) if (id !== undefined) checkId(id, `${of} ${name}`);
}

export function checkPage(limit: number): number {
  return checkLimit(limit, MAX_BATCH);
}
