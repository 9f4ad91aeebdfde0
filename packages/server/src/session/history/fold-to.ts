/**
 * `foldTo` folds a session from a known state up to a position. It reads the log, and the archive where the log was
 * trimmed. Reads only.
 *
 * Invariant: the result is exactly at `upTo`, or a reason why it can't be. Events are folded in order and once. A
 * merged event of the archive is never folded beyond the start of the log.
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
import type { LogEntry } from "../../log/entry.ts";
import type { InvalidCursorReason } from "../../log/log.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Backend } from "../backend.ts";

export interface FoldToOptions {
  /** The target position. Default: the end. */
  readonly upTo?: Position;
  /**
   * Returns the events of log entries that follow each other. May merge deltas, if the caller needs no state between
   * them. @default one event per entry
   */
  readonly toEvents?: (entries: readonly LogEntry[]) => readonly SessionEvent[];
  /** Called for every folded event. */
  readonly onStep?: (before: SessionState, event: SessionEvent, after: SessionState) => void;
  /** Schedules a piece of the work, for example when the process is idle. */
  readonly run?: <T>(piece: () => T) => Promise<T>;
}

const LOG_PAGE = 500;
const ARCHIVE_PAGE = 200;

/** @returns the state at the position, or the reason why it can't be reached from `from` */
export async function foldTo(
  backend: Backend,
  ref: SessionRef,
  from: SessionState,
  options: FoldToOptions = {},
): Promise<SessionState | InvalidCursorReason> {
  const { upTo, toEvents = parseAll, onStep, run = (piece) => Promise.resolve(piece()) } = options;
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
    const page = await backend.log.read(ref, { after: formatCursor(state), limit: LOG_PAGE });
    const before = state.seq;
    if (page.ok && page.entries.length > 0) {
      // A merged event must not reach beyond the target.
      const entries = page.entries.filter(
        (entry) => upTo === undefined || comparePositions(entry, upTo) <= 0,
      );
      await run(() => take(toEvents(entries), upTo ?? null));
      // The next event is beyond the target or doesn't follow the state, so the target can't be reached.
      if (state.seq === before) break;
      continue;
    }
    // The log ends here or starts later. Continue with the archive, unless it also ends here.
    const base = parseCursor((await backend.log.head(ref))?.base);
    const events = await backend.store.archive.events(ref, { after: state.seq, limit: ARCHIVE_PAGE });
    // A merged event of the archive may span a position where the log still has single events: stop at the start of the
    // log.
    const end = base !== null && comparePositions(base, state) > 0 ? lower(base, upTo) : (upTo ?? null);
    await run(() => take(events, end));
    if (state.seq > before) continue;
    if (page.ok) break;
    const { archived } = await backend.store.archive.header(ref);
    // There is no log, or the next claim restarts it right after the archived position.
    if (archived === formatCursor(state) && (page.reason === "missing" || page.reason === "ahead")) break;
    return page.reason;
  }
  return upTo === undefined || comparePositions(state, upTo) === 0 ? state : "lost";
}

function parseAll(entries: readonly LogEntry[]): readonly SessionEvent[] {
  return entries.map((entry) => entry.event);
}

function lower(a: Position, b: Position | undefined): Position {
  return b === undefined || comparePositions(a, b) < 0 ? a : b;
}
