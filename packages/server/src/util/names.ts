/**
 * `isId`, `SESSION_ID_PATTERN` and `WRITER_ID_PATTERN` define which ids are legal, for the store, the log and the
 * gateway. Pure.
 *
 * Invariant: every path uses these rules, so an id that one of them accepts works everywhere. `.` and `..` are refused,
 * because URLs drop them as path segments: nothing could reach or erase what has such an id. Each `…_RULE` describes
 * its rule. A narrower rule would lock out stored data.
 */

/**
 * A surrogate without its other half. UTF-8 can't encode it: in a column, all of them would become the same character.
 */
const LONE_SURROGATE = /\p{Surrogate}/u;
const DOTS = /^\.{1,2}$/;

export const ID_RULE = "1 to 256 characters, without NUL and lone surrogates, and not . or ..";

/** Ids of tenants, users, agents, messages and all else but sessions. PostgreSQL's text can't contain NUL. */
export function isId(id: unknown): id is string {
  return (
    typeof id === "string" &&
    id.length >= 1 &&
    id.length <= 256 &&
    !id.includes("\0") &&
    !LONE_SURROGATE.test(id) &&
    !DOTS.test(id)
  );
}

/** Session ids become part of the keys of the log. Digits alone are session numbers in URLs. */
export const SESSION_ID_PATTERN = /^(?!\.{1,2}$)(?![0-9]+$)[\w.@:-]{1,200}$/;
export const SESSION_ID_RULE = "1 to 200 of A-Z a-z 0-9 _ . @ : -, not only digits, and not . or ..";

/** Writer ids, and the keys of outbox rows, because an outbox key becomes the id of its writer. */
export const WRITER_ID_PATTERN = /^[\w.:@/-]{1,300}$/;
export const WRITER_ID_RULE = "1 to 300 of A-Z a-z 0-9 _ . : @ / -";
