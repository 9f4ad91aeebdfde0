/**
 * The archived part of a session as a folded state, to fold the rest of the log into. Never reads the log.
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
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import type { Backend } from "../backend.ts";

const PAGE = 1_000;
/** Fewer where others wait meanwhile. */
const POLITE_PAGE = 200;

export async function readArchivedState(store: Store, ref: SessionRef, turns: number): Promise<SessionState> {
  const window = await store.archive.window(ref, turns);
  if (window.header === null) return emptyState;
  if (window.v !== SCHEMA_VERSION) return foldArchived(store, ref, { end: window.header.seq, turns });
  return stateOf(window);
}

function stateOf({ header, turns, earlier }: ArchivedWindow): SessionState {
  return restore({ ...emptyState, ...header, v: SCHEMA_VERSION, earlier, turns });
}

export interface FoldArchivedOptions {
  /** The seq of an archived position. */
  readonly end: number;
  readonly turns: number;
  /** What is seen of each event. */
  readonly shown?: (event: SessionEvent) => SessionEvent;
  /** Does a piece of the work when there is time for it. */
  readonly run?: <T>(piece: () => T) => Promise<T>;
}

/**
 * A window on the session as it was at an archived position, folded from the events: for what another version
 * folded, which may lack something, and where what was archived since must not show.
 */
export async function foldArchived(
  store: Store,
  ref: SessionRef,
  { end, turns, shown = (event) => event, run }: FoldArchivedOptions,
): Promise<SessionState> {
  const piece = run ?? (async (work) => work());
  let state = emptyState;
  while (state.seq < end) {
    const limit = run === undefined ? PAGE : POLITE_PAGE;
    const events = await store.archive.events(ref, { after: state.seq, limit });
    if (events.length === 0) break;
    await piece(() => {
      for (const event of events) if (state.seq < end) state = fold(state, shown(event));
    });
  }
  return piece(() => restore(snapshot(state, turns)));
}

/**
 * The state from which a session's newest turn can be folded: right before it began, as the archive kept it. Every position
 * from there on can be reached exactly, however the archive and the log lie. Reads only.
 */
/** The empty state where none was kept, or by another version: everything can be folded from there, only not as quickly. */
export async function readCheckpoint(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
): Promise<SessionState> {
  const checkpoint = await store.archive.checkpoint(ref);
  return checkpoint === null || checkpoint.v !== SCHEMA_VERSION ? emptyState : restore(checkpoint);
}
