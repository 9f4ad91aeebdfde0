/**
 * Whether a cursor is good: only if that very entry is in the log, or it is the recorded boundary before it.
 * Redis itself would answer a bad one with silence or with a jump. Pure.
 */
import { comparePositions, type Position } from "@turnstream/protocol";
import type { EngineHead, EngineRange } from "./engine.ts";
import type { BadCursorReason } from "./log.ts";

/** What was read from a position on, as the entries after it; null when the position is not in the log. */
export function entriesAfter(after: Position, range: EngineRange): EngineRange["entries"] | null {
  const [first, ...rest] = range.entries;
  if (first !== undefined && comparePositions(first, after) === 0) return rest;
  return comparePositions(range.base, after) === 0 ? range.entries : null;
}

export function whyBad(cursor: Position, head: EngineHead | null): BadCursorReason {
  if (head === null) return "missing";
  if (comparePositions(cursor, head.last) > 0) return "ahead";
  return comparePositions(cursor, head.base) < 0 ? "trimmed" : "lost";
}
