/**
 * Folds a session up to a position, from a state that is known: out of the log, and out of the archive where the log no
 * longer reaches. Reads only.
 */
import {
  comparePositions,
  type SessionEvent,
  fold,
  formatCursor,
  parseCursor,
  type Position,
  type SessionState,
} from "@turnstream/protocol";
import type { InvalidCursorReason } from "../../log/log.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Backend } from "../backend.ts";

export interface FoldToOptions {
  /** To the end when absent. */
  readonly upTo?: Position;
  /** Sees every step. */
  readonly onStep?: (before: SessionState, event: SessionEvent, after: SessionState) => void;
  /** Does a piece of the work when there is time for it. */
  readonly run?: <T>(piece: () => T) => Promise<T>;
}

const LOG_PAGE = 500;
const ARCHIVE_PAGE = 200;

/** @returns the state at the position, or why it can't be reached from here */
export async function foldTo(
  backend: Backend,
  ref: SessionRef,
  from: SessionState,
  options: FoldToOptions = {},
): Promise<SessionState | InvalidCursorReason> {
  const { upTo, onStep, run = (piece) => Promise.resolve(piece()) } = options;
  let state = from;
  const take = (events: readonly SessionEvent[], end: Position | null): void => {
    for (const event of events) {
      const at = parseCursor(event.id);
      if (at === null || (end !== null && comparePositions(at, end) > 0)) return;
      const after = fold(state, event);
      onStep?.(state, event, after);
      state = after;
    }
  };
  const isThere = (): boolean => upTo !== undefined && comparePositions(state, upTo) >= 0;
  while (!isThere()) {
    const page = await backend.log.read(ref.session, { after: formatCursor(state), limit: LOG_PAGE });
    const before = state.seq;
    if (page.ok && page.entries.length > 0) {
      const { entries } = page;
      await run(() =>
        take(
          entries.map((entry) => entry.event),
          upTo ?? null,
        ),
      );
      // What comes next is beyond the position, or doesn't follow: there is no way to it.
      if (state.seq === before) break;
      continue;
    }
    // Here the log ends, or it doesn't reach back: then the archive goes on, unless that ends here too.
    const base = parseCursor((await backend.log.head(ref.session))?.base);
    const events = await backend.store.archive.events(ref, { after: state.seq, limit: ARCHIVE_PAGE });
    // Merged events of the archive may reach over a position that the log still has for itself.
    const end = base !== null && comparePositions(base, state) > 0 ? lower(base, upTo) : (upTo ?? null);
    await run(() => take(events, end));
    if (state.seq > before) continue;
    if (page.ok) break;
    const { archived } = await backend.store.archive.header(ref);
    // There is no log, or one that has to begin anew, right after what is archived.
    if (archived === formatCursor(state) && (page.reason === "missing" || page.reason === "ahead")) break;
    return page.reason;
  }
  return upTo === undefined || comparePositions(state, upTo) === 0 ? state : "lost";
}

function lower(a: Position, b: Position | undefined): Position {
  return b === undefined || comparePositions(a, b) < 0 ? a : b;
}
