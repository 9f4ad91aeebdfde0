/**
 * `readArchivedState`, `foldArchivedEvents` and `readCheckpoint` read folded states from the archive: its end, a
 * position, and the state before the newest turn. They do not read the log.
 *
 * Invariant: each state equals what this version folds from the events. A state of an older version is converted, and
 * one of the next version is used unchanged. If neither is exact, the events are folded again, or `readCheckpoint`
 * returns the empty state. `foldArchivedEvents` folds each event only as `shown` returns it.
 */
import {
  emptyState,
  type SessionEvent,
  fold,
  restore,
  SCHEMA_VERSION,
  type SessionState,
  snapshot,
  upgradeSnapshot,
} from "@turnstream/protocol";
import { type ArchivedWindow, isExactFor } from "../../store/archive.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import type { Backend } from "../backend.ts";

const PAGE = 1_000;
/** Smaller pages between pauses, so that other work is not delayed. */
const POLITE_PAGE = 200;

export async function readArchivedState(store: Store, ref: SessionRef, turns: number): Promise<SessionState> {
  const window = await store.archive.window(ref, turns);
  if (window.header === null) return emptyState;
  const converted = stateOf(window);
  if (converted !== null) return converted;
  const { state } = await foldArchivedEvents(store, ref, { end: window.header.seq });
  return restore(snapshot(state, turns));
}

/** Returns null if the events must be folded again. */
function stateOf({ header, v, turns, earlier }: ArchivedWindow): SessionState | null {
  if (v === null || !isExactFor(v)) return null;
  const upgraded = upgradeSnapshot({ ...emptyState, ...header, v: Math.abs(v), earlier, turns: [] });
  return upgraded === null ? null : restore({ ...upgraded, turns });
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
 * the empty state if there is none that this version can use; folding then takes longer.
 */
export async function readCheckpoint(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
): Promise<SessionState> {
  const checkpoint = await store.archive.checkpoint(ref);
  if (checkpoint === null) return emptyState;
  // An older version may have folded newer events before the checkpoint. Only a header that it wrote last shows that it
  // did not.
  if (checkpoint.v < SCHEMA_VERSION && (await store.archive.header(ref)).v !== checkpoint.v)
    return emptyState;
  const upgraded = upgradeSnapshot(checkpoint);
  return upgraded === null ? emptyState : restore(upgraded);
}
