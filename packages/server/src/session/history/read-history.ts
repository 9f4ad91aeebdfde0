/**
 * What a session amounts to now: the archive, and on top of it what the log holds after the archived position.
 * The two are read one after the other while archiving, trimming and takeovers go on; where they don't join, both
 * are read again, a bounded number of times.
 */
import { type Cursor, fold, formatCursor, type SessionState } from "@turnstream/protocol";
import type { InvalidCursorReason } from "../../log/log.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { TurnRecord } from "../../store/ports/archive.ts";
import { readArchivedState } from "./archived-state.ts";
import type { Backend } from "../backend.ts";

export interface SessionHistory {
  /** A window on the newest turns; `earlier` says how many more there are. */
  readonly state: SessionState;
  /** Where it stands: attach after this. */
  readonly cursor: Cursor;
  /** What of it is archived: a good cursor even while there is no log. */
  readonly archivedUpTo: Cursor;
  /** Why the log could not be joined to the archive; null when it could. The state is then the archive alone. */
  readonly logUnavailableReason: InvalidCursorReason | null;
}

export interface ReadHistoryOptions {
  readonly turns?: number;
  /** How often to begin again where archive and log don't join. */
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
    const joined = await foldRest(backend, ref.session, archived);
    const floor = formatCursor(archived);
    if (typeof joined !== "string") {
      return { state: joined, cursor: formatCursor(joined), archivedUpTo: floor, logUnavailableReason: null };
    }
    // Either the archive has moved on meanwhile; or the log is gone, or was lost and nobody has claimed it yet.
    const { archived: now } = await backend.store.archive.header(ref);
    if (now === floor || left <= 1)
      return { state: archived, cursor: floor, archivedUpTo: floor, logUnavailableReason: joined };
  }
}

/** Older turns, newest first. They are archived: a turn leaves the window only after that. */
export function readOlderTurns(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  page: { readonly before: number; readonly limit: number },
): Promise<TurnRecord[]> {
  return store.turns.list(ref, page);
}

async function foldRest(
  { log }: Backend,
  session: string,
  from: SessionState,
): Promise<SessionState | InvalidCursorReason> {
  let state = from;
  while (true) {
    const page = await log.read(session, { after: formatCursor(state) });
    if (!page.ok) return page.reason;
    for (const entry of page.entries) state = fold(state, entry.event);
    if (!page.more) return state;
  }
}
