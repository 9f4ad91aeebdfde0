/** Checks on arguments that both implementations make alike. Throws StoreErrors; never looks at stored rows. */
import { parseCursor, type Cursor, type Position } from "@turnstream/protocol";
import type { Env } from "./env.ts";
import { StoreError } from "./errors.ts";

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

/** Ids as the protocol has them; PostgreSQL's text can't hold NUL. */
export function checkId(id: string, name: string): string {
  if (id.length >= 1 && id.length <= 256 && !id.includes("\0")) return id;
  throw new StoreError("INVALID", `${name} must have 1 to 256 characters, none of them NUL`);
}

/** Short text in a column of its own, such as a title: made well-formed, since UTF-8 has no lone surrogates. */
export function checkText(text: string, name: string): string {
  if (text.length <= 500 && !text.includes("\0")) return Buffer.from(text).toString();
  throw new StoreError("INVALID", `${name} must have at most 500 characters, none of them NUL`);
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
