/**
 * `readArchivedState`, `foldArchivedEvents` and `readCheckpoint` read folded states from the archive: its end, a
 * position, and the state before the newest turn. They do not read the log.
 *
 * Invariant: a state that another schema version folded is never returned. The events are folded again, or
 * `readCheckpoint` returns the empty state. `foldArchivedEvents` folds each event only as `shown` returns it.
 */
import {
  emptyState,
  type SessionEvent,
  fold,
  restore,
  SCHEMA_VERSION,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import type { ArchivedWindow } from "../../store/ports/archive.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import type { Backend } from "../backend.ts";

const PAGE = 1_000;
/** Smaller pages between pauses, so that other work is not delayed. */
const POLITE_PAGE = 200;

export async function readArchivedState(store: Store, ref: SessionRef, turns: number): Promise<SessionState> {
  const window = await store.archive.window(ref, turns);
  if (window.header === null) return emptyState;
  if (window.v === SCHEMA_VERSION) return stateOf(window);
  const { state } = await foldArchivedEvents(store, ref, { end: window.header.seq });
  return restore(snapshot(state, turns));
}

function stateOf({ header, turns, earlier }: ArchivedWindow): SessionState {
  return restore({ ...emptyState, ...header, v: SCHEMA_VERSION, earlier, turns });
}

export interface FoldArchivedOptions {
  /** The seq of an archived position. */
  readonly end: number;
  /** Maps each event to what the reader may see. */
  readonly shown?: (event: SessionEvent) => SessionEvent;
  /** Schedules a piece of the work, for example when the process is idle. */
  readonly run?: <T>(piece: () => T) => Promise<T>;
}

/**
 * Folds the state at an archived position from the events. Needed if another schema version folded the archive, or if
 * later archived changes must not be visible.
 * @returns the state, and the time of its last event or 0
 */
export async function foldArchivedEvents(
  store: Store,
  ref: SessionRef,
  { end, shown = (event) => event, run }: FoldArchivedOptions,
): Promise<{ readonly state: SessionState; readonly at: number }> {
  const piece = run ?? (async (work) => work());
  let state = emptyState;
  let at = 0;
  while (state.seq < end) {
    const limit = run === undefined ? PAGE : POLITE_PAGE;
    const events = await store.archive.events(ref, { after: state.seq, limit });
    if (events.length === 0) break;
    await piece(() => {
      for (const event of events) {
        if (state.seq >= end) break;
        state = fold(state, shown(event));
        at = event.at;
      }
    });
  }
  return { state, at };
}

/**
 * Returns the state right before the newest turn started. Every later position can be folded from it exactly. Returns
 * the empty state if there is no checkpoint of this schema version; folding then takes longer.
 */
export async function readCheckpoint(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
): Promise<SessionState> {
  const checkpoint = await store.archive.checkpoint(ref);
  return checkpoint === null || checkpoint.v !== SCHEMA_VERSION ? emptyState : restore(checkpoint);
}
