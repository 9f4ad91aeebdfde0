/**
 * The archived part of a session as a folded state, to fold the rest of the log into. Never reads the log.
 */
import {
  emptyState,
  type Event,
  fold,
  restore,
  SCHEMA_VERSION,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import type { ArchivedWindow } from "../store/ports/archive.ts";
import type { Ref } from "../store/refs.ts";
import type { Store } from "../store/store.ts";

const PAGE = 1_000;

export async function readArchived(store: Store, ref: Ref, turns: number): Promise<SessionState> {
  const window = await store.archive.window(ref, turns);
  if (window.header === null) return emptyState;
  if (window.v !== SCHEMA_VERSION) return foldArchived(store, ref, window.header.seq, turns);
  return stateOf(window);
}

function stateOf({ header, turns, earlier }: ArchivedWindow): SessionState {
  return restore({ ...emptyState, ...header, v: SCHEMA_VERSION, earlier, turns });
}

/**
 * A window on the session as it was at an archived position, folded from the events: for what another version
 * folded, which may lack something, and where what was archived since must not show.
 * @param shown what is seen of each event
 */
export async function foldArchived(
  store: Store,
  ref: Ref,
  end: number,
  turns: number,
  shown: (event: Event) => Event = (event) => event,
): Promise<SessionState> {
  let state = emptyState;
  while (state.seq < end) {
    const events = await store.archive.events(ref, { after: state.seq, limit: PAGE });
    for (const event of events) if (state.seq < end) state = fold(state, shown(event));
    if (events.length === 0) break;
  }
  return restore(snapshot(state, turns));
}
