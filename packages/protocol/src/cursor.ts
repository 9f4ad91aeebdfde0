/**
 * Positions in a session's log: `<epoch>-<seq>`, the one cursor of every dialect.
 * Pure text and number work; never looks at a log.
 */

/** The position `<epoch>-<seq>` as text. It is what clients keep and send back. */
export type Cursor = string;

export interface Position {
  /** Rises when a writer takes the log over or the log is rebuilt. */
  readonly epoch: number;
  /** Dense: rises by one with every event of a session. */
  readonly seq: number;
}

/** The cursor of a client that has seen nothing. */
export const START_CURSOR: Cursor = "0-0";

/** What a cursor looks like; the schemas use it too. No sign, no leading zero, at most 15 digits each. */
export const CURSOR_PATTERN = /^(0|[1-9]\d{0,14})-(0|[1-9]\d{0,14})$/;

export function formatCursor(position: Position): Cursor {
  return `${position.epoch}-${position.seq}`;
}

/** Reads a cursor that may come from anywhere; null for anything that is not exactly one. */
export function parseCursor(text: unknown): Position | null {
  if (typeof text !== "string" || text.length > 31) return null;
  const match = CURSOR_PATTERN.exec(text);
  return match === null ? null : { epoch: Number(match[1]), seq: Number(match[2]) };
}

/** Negative when `a` stands before `b` in the log, 0 when they are the same position. */
export function comparePositions(a: Position, b: Position): number {
  return a.epoch - b.epoch || a.seq - b.seq;
}

/** Compares two well-formed cursors; a malformed one stands before everything. */
export function compareCursors(a: Cursor, b: Cursor): number {
  const before = { epoch: -1, seq: -1 };
  return comparePositions(parseCursor(a) ?? before, parseCursor(b) ?? before);
}

/** The seq of a cursor known to be well-formed, without the cost of checking it. */
export function seqOf(cursor: Cursor): number {
  return Number(cursor.slice(cursor.indexOf("-") + 1));
}
