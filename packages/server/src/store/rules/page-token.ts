/**
 * `cutPage` returns the token of the next page, and `parsePageToken` the end of a page that a token names. Pure.
 *
 * Invariant: the token has the sort key of its list: a time, then the id. Sessions are sorted by `updatedAt`, shares by
 * `createdAt`. It contains no secrets and no user, so every query must filter by the actor again. An invalid token
 * throws INVALID.
 */
import { checkTime } from "./arguments.ts";
import { StoreError } from "../errors.ts";

export interface PageEnd {
  readonly time: number;
  readonly id: string;
}

export function formatPageToken(end: PageEnd): string {
  return Buffer.from(`${end.time} ${end.id}`).toString("base64url");
}

/** @param rows those of the page, and one more if another page follows */
export function cutPage<Row>(rows: readonly Row[], limit: number, endOf: (row: Row) => PageEnd) {
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { page, next: last === undefined ? null : formatPageToken(endOf(last)) };
}

export function parsePageToken(token: string): PageEnd {
  const match = /^(\d{1,15}) ([^\0]{1,256})$/su.exec(Buffer.from(token, "base64url").toString());
  const [, time, id] = match ?? [];
  if (time === undefined || id === undefined)
    throw new StoreError("INVALID", "before must be a page token of this store");
  return { time: checkTime(Number(time), "before"), id };
}
