/**
 * `readHistory` returns the current state of a session and its cursor: the archive, plus the log after the archived
 * position.
 *
 * Invariant: `state` is exactly the state at `cursor`. Archiving, trimming and takeovers can run between the two reads.
 * If archive and log don't join but the archive advanced, both are read again, up to `maxAttempts` times. Otherwise the
 * result is the archive alone, with a reason.
 */
import { type Cursor, fold, formatCursor, type SessionState } from "@turnstream/protocol";
import type { InvalidCursorReason } from "../../log/log.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { TurnRecord } from "../../store/archive.ts";
import { readArchivedState } from "./archived-state.ts";
import type { Backend } from "../backend.ts";

export interface SessionHistory {
  /** A window of the newest turns; `earlier` is the number of older ones. */
  readonly state: SessionState;
  /** The position of `state`: subscribe after this cursor. */
  readonly cursor: Cursor;
  /** The archived position. It is a valid cursor even without a log. */
  readonly archivedUpTo: Cursor;
  /** The state at `archivedUpTo`. */
  readonly archived: SessionState;
  /** Why the log could not be joined to the archive; null if it could. Otherwise `state` is the archive alone. */
  readonly logUnavailableReason: InvalidCursorReason | null;
}

export interface ReadHistoryOptions {
  readonly turns?: number;
  /** How often archive and log are read if they don't join. @default 5 */
  readonly maxAttempts?: number;
}

const DEFAULT_TURNS = 20;
const DEFAULT_TRIES = 5;

export async function readHistory(
  backend: Backend,
  ref: SessionRef,
  options: ReadHistoryOptions = {},
): Promise<SessionHistory> {
  const { turns = DEFAULT_TURNS, maxAttempts = DEFAULT_TRIES } = options;
  for (let left = maxAttempts; ; left--) {
    const archived = await readArchivedState(backend.store, ref, turns);
    const joined = await foldRest(backend, ref, archived);
    const floor = formatCursor(archived);
    if (typeof joined !== "string") {
      const cursor = formatCursor(joined);
      return { state: joined, cursor, archivedUpTo: floor, archived, logUnavailableReason: null };
    }
    // If the archive advanced, read both again. Otherwise the log is missing, or it was lost and is not claimed yet.
    const { archived: now } = await backend.store.archive.header(ref);
    if (now === floor || left <= 1)
      return { state: archived, cursor: floor, archivedUpTo: floor, archived, logUnavailableReason: joined };
  }
}

/** Returns older turns, newest first. They are always archived, because a turn leaves the window only after that. */
export function readOlderTurns(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  page: { readonly before: number; readonly limit: number },
): Promise<TurnRecord[]> {
  return store.turns.list(ref, page);
}

async function foldRest(
  { log }: Backend,
  ref: SessionRef,
  from: SessionState,
): Promise<SessionState | InvalidCursorReason> {
  let state = from;
  while (true) {
    const page = await log.read(ref, { after: formatCursor(state) });
    if (!page.ok) return page.reason;
    for (const entry of page.entries) state = fold(state, entry.event);
    if (!page.more) return state;
  }
}
