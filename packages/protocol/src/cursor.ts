/**
 * `parseCursor` and `formatCursor` convert between positions in a session's log and cursors, `<epoch>-<seq>`.
 * Invariant: every dialect and schema uses this one format, `CURSOR_PATTERN`. `parseCursor` accepts untrusted input and
 * returns null for anything that is not exactly one cursor. Does not read a log.
 */

/** A position as text, `<epoch>-<seq>`. Clients store it and send it back to resume. */
export type Cursor = string;

export interface Position {
  /** Increases when another writer takes over the log or the log is rebuilt. */
  readonly epoch: number;
  /** Increases by exactly one with every event of a session. */
  readonly seq: number;
}

/** The cursor of a client that has received nothing. */
export const START_CURSOR: Cursor = "0-0";

/** The format of a cursor, also used by the schemas: no sign, no leading zero, at most 15 digits per number. */
export const CURSOR_PATTERN = /^(0|[1-9]\d{0,14})-(0|[1-9]\d{0,14})$/;

export function formatCursor(position: Position): Cursor {
  return `${position.epoch}-${position.seq}`;
}

/** Parses a cursor from an untrusted source. Returns null for anything that is not exactly one cursor. */
export function parseCursor(text: unknown): Position | null {
  if (typeof text !== "string" || text.length > 31) return null;
  const match = CURSOR_PATTERN.exec(text);
  return match === null ? null : { epoch: Number(match[1]), seq: Number(match[2]) };
}

/** Returns a negative number if `a` is before `b` in the log, and 0 if they are equal. */
export function comparePositions(a: Position, b: Position): number {
  return a.epoch - b.epoch || a.seq - b.seq;
}

/** Compares two well-formed cursors. A malformed cursor sorts before all others. */
export function compareCursors(a: Cursor, b: Cursor): number {
  const before = { epoch: -1, seq: -1 };
  return comparePositions(parseCursor(a) ?? before, parseCursor(b) ?? before);
}

/** Returns the seq of a cursor that is known to be well-formed, without validating it. */
export function seqOf(cursor: Cursor): number {
  return Number(cursor.slice(cursor.indexOf("-") + 1));
}
