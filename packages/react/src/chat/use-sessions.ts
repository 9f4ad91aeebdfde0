/**
 * `useSessions` returns the user's list of sessions, and the commands that change it.
 * Invariant: the commands are stable, and the result changes only with the list.
 */
import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { SessionListState } from "./session-list-state.ts";
import { createSessionListStore, type SessionCalls, type SessionListCommands } from "./session-list-store.ts";

export interface Sessions
  extends SessionListCommands, Pick<SessionListState, "sessions" | "isLoading" | "error"> {
  /** Whether `loadMore` would load older sessions. */
  readonly hasMore: boolean;
}

export function useSessions(client: SessionCalls): Sessions {
  const store = useMemo(() => createSessionListStore(client), [client]);
  const state = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  useEffect(() => store.start(), [store]);
  return useMemo(() => {
    const { refresh, loadMore, create, rename, remove } = store;
    const { sessions, isLoading, error, nextBefore } = state;
    return {
      sessions,
      isLoading,
      error,
      hasMore: nextBefore !== null,
      refresh,
      loadMore,
      create,
      rename,
      remove,
    };
  }, [store, state]);
}
