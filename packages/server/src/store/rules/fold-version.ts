/**
 * `nextFoldVersion` decides which fold version is stored with a header or a turn, and `isExactFor` whether a reader can
 * use it. Pure.
 *
 * Invariant: a stored state is used only if it equals what the reader itself would fold. `write-archive.ts` computes the
 * same rule in SQL.
 */
import { SCHEMA_VERSION } from "@turnstream/protocol";
import type { FoldVersion } from "../ports/archive.ts";

/**
 * @param stored the version of the state that this fold continues, or null for none
 * @param v the version that folds now
 * @param hasNewerEvents true if it folds events of a newer version
 */
export function nextFoldVersion(stored: FoldVersion | null, v: number, hasNewerEvents: boolean): FoldVersion {
  const isIncomplete = stored === -v || Math.abs(stored ?? 0) > v;
  return hasNewerEvents || isIncomplete ? -v : v;
}

/** Returns false if the events must be folded again, because an older version folded newer events. */
export function isExactFor(stored: FoldVersion, reader = SCHEMA_VERSION): boolean {
  return stored > 0 || -stored >= reader;
}
