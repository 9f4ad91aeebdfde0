/**
 * `referToResult` replaces the outcome of a call in a journal entry by a reference to its archived result, and
 * `resolveJournal` resolves the references of a journal. Pure.
 *
 * Invariant: other entries, and outcomes whose result has not ended, stay as they are.
 */
import { findToolResult, type Json, type ToolResultBlock, type Turn } from "@turnstream/protocol";
import {
  isResultReference,
  isWholeReference,
  resolveResult,
  toResultReference,
} from "../../session/history/result-reference.ts";
import type { JournalEntry } from "../../store/journal.ts";
import { CALL_PREFIX } from "./journal-keys.ts";

/** @param turn the turn of the entry, as it is archived in the commit of the entry */
export function referToResult<T extends JournalEntry>(entry: T, turn: Turn | undefined): T {
  const block = findResultOf(entry.key, turn);
  if (block === undefined || block.end === null || isResultReference(entry.value)) return entry;
  return { ...entry, value: toResultReference(entry.value, block) };
}

/** @param turn the turn of the journal; undefined if it has not started */
export function resolveJournal(entries: readonly JournalEntry[], turn: Turn | undefined): Map<string, Json> {
  const resolved = entries.flatMap(({ key, value }) => {
    const whole = resolveResult(value, findResultOf(key, turn));
    return whole === undefined ? [] : [[key, whole] as const];
  });
  return new Map(resolved);
}

/** Returns the keys of the outcomes that are journaled as a whole. */
export function listWholeResults(entries: readonly JournalEntry[]): Set<string> {
  const whole = entries.filter(({ key, value }) => key.startsWith(CALL_PREFIX) && !isResultReference(value));
  return new Set(whole.map(({ key }) => key));
}

/** Returns true for the outcome of a call whose result has not ended in the turn. */
export function lacksResult(key: string, turn: Turn): boolean {
  return key.startsWith(CALL_PREFIX) && (findResultOf(key, turn)?.end ?? null) === null;
}

/** Returns true for the outcome of a call if its result in the turn has all of it. */
export function isShown(entry: JournalEntry, turn: Turn): boolean {
  return !lacksResult(entry.key, turn) && isWholeReference(referToResult(entry, turn).value);
}

function findResultOf(key: string, turn: Turn | undefined): ToolResultBlock | undefined {
  if (turn === undefined || !key.startsWith(CALL_PREFIX)) return undefined;
  return findToolResult(turn, key.slice(CALL_PREFIX.length));
}
