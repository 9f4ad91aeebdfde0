/**
 * `exactAfter` and `nextFoldVersion` decide which fold version is stored with a header or a turn, and `isExactFor` whether
 * a reader can use it. Pure.
 *
 * Invariant: a stored state is used only if it equals what the reader itself would fold.
 */
import { SCHEMA_VERSION } from "@turnstream/protocol";
import type { FoldVersion } from "../ports/archive.ts";

/**
 * Returns the versions of a stored state from which version `v` continues exactly: it is then stored as `v`, and otherwise
 * as `-v`. 0 stands for no state.
 * @param hasNewerEvents true if it folds events of a newer version
 */
export function exactAfter(
  v: number,
  hasNewerEvents: boolean,
): { readonly min: number; readonly max: number } {
  return hasNewerEvents ? { min: 1, max: 0 } : { min: 1 - v, max: v };
}

/** @param stored the version of the state that this fold continues, or null for none */
export function nextFoldVersion(stored: FoldVersion | null, v: number, hasNewerEvents: boolean): FoldVersion {
  const { min, max } = exactAfter(v, hasNewerEvents);
  return (stored ?? 0) >= min && (stored ?? 0) <= max ? v : -v;
}

/** Returns false if the events must be folded again, because an older version folded newer events. */
export function isExactFor(stored: FoldVersion, reader = SCHEMA_VERSION): boolean {
  return stored > 0 || -stored >= reader;
}
