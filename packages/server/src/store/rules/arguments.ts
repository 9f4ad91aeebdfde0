/** Checks on arguments that both implementations make alike. Throws StoreErrors; never looks at stored rows. */
import { SESSION_ID_PATTERN, SESSION_ID_RULE } from "../../util/names.ts";
import { parseCursor, type Cursor, type Position } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";

/** A page or batch size: a whole number from 1 to `most`. */
export function checkLimit(limit: number, most: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= most) return limit;
  throw new StoreError("INVALID", `limit must be a whole number from 1 to ${most}`);
}

export function checkCount(value: number, name: string): number {
  if (Number.isSafeInteger(value) && value >= 0 && value < 1e15) return value;
  throw new StoreError("INVALID", `${name} must be a whole number from 0 to 10^15`);
}

export function checkCursor(cursor: Cursor, name: string): Position {
  const position = parseCursor(cursor);
  if (position === null) throw new StoreError("INVALID", `${name} is not a cursor`);
  return position;
}

/** A hundred years: further from now, PostgreSQL's times and JavaScript's begin to differ. */
export const MAX_DURATION_MS = 100 * 365 * 24 * 60 * 60 * 1000;

/** Milliseconds before or after now. */
export function checkDuration(ms: number, name: string): number {
  if (Number.isSafeInteger(ms) && ms >= 0 && ms <= MAX_DURATION_MS) return ms;
  throw new StoreError("INVALID", `${name} must be a whole number of milliseconds, at most a hundred years`);
}

/** The last moment with a year of four digits. */
const MAX_TIME = Date.UTC(9999, 11, 31);

/** Milliseconds since 1970. */
export function checkTime(time: number, name: string): number {
  if (Number.isSafeInteger(time) && time >= 0 && time <= MAX_TIME) return time;
  throw new StoreError("INVALID", `${name} must be a time in milliseconds since 1970, before the year 9999`);
}

/** A surrogate without its other half. UTF-8 has none: in a column, all of them would be the same character. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Ids as the protocol has them; PostgreSQL's text can't hold NUL, and different ids must stay different in it. */
export function isId(id: unknown): id is string {
  return (
    typeof id === "string" &&
    id.length >= 1 &&
    id.length <= 256 &&
    !id.includes("\0") &&
    !LONE_SURROGATE.test(id)
  );
}

export function checkId(id: string, name: string): string {
  if (isId(id)) return id;
  throw new StoreError("INVALID", `${name} must have 1 to 256 characters, none of them NUL or half of one`);
}

/** The id of a new session: one that the log takes too, or else its log could never be erased. */
export function checkSessionId(id: string): string {
  if (SESSION_ID_PATTERN.test(id)) return id;
  throw new StoreError("INVALID", `a session id must be ${SESSION_ID_RULE}`);
}

/**
 * Short text in a column of its own, such as a title: made well-formed, since UTF-8 has no lone surrogates. Never
 * for what something is found by.
 */
export function checkText(text: string, name: string): string {
  if (text.length <= 500 && !text.includes("\0")) return Buffer.from(text).toString();
  throw new StoreError("INVALID", `${name} must have at most 500 characters, none of them NUL`);
}

/** Arguments of methods that are no ids, though they are texts: which method, and the how manyth. */
const NOT_IDS: Readonly<Record<string, number>> = { "sessions.rename": 2, "keys.verify": 0 };

/**
 * Whom and what a call is about: every id among its arguments, and those in its `Actor`s and `Ref`s. Done for all
 * methods in one place, so that none can be found by an id that another one would not have stored.
 */
export function checkArguments(method: string, args: readonly unknown[]): void {
  args.forEach((arg, n) => {
    if (NOT_IDS[method] === n || typeof arg === "function") return;
    if (typeof arg === "string") checkId(arg, `an id given to ${method}`);
    else if (Array.isArray(arg)) checkArguments(method, arg);
    else if (typeof arg === "object" && arg !== null) {
      const { tenant, user, session } = arg as Readonly<Record<string, unknown>>;
      for (const [name, id] of Object.entries({ tenant, user, session }))
        if (typeof id === "string") checkId(id, name);
    }
  });
}

const EPOCHS = 2 ** 32;

/** The first epoch of a session: given, or one of about four billion. */
export function firstEpoch(given: number | undefined, env: Env): number {
  if (given === undefined) {
    const bytes = env.randomBytes(4);
    return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0) || 1;
  }
  if (Number.isSafeInteger(given) && given >= 1 && given < EPOCHS) return given;
  throw new StoreError("INVALID", "firstEpoch must be a whole number from 1 to 2^32 - 1");
}
