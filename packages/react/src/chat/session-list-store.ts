/**
 * `createSessionListStore` loads the user's list of sessions page by page, and creates, renames and deletes sessions.
 * `SessionListState` is the loaded part, with the pure functions that change it, and `useSessions` is the hook.
 * Invariant: only the newest load changes the list, so a late response never restores a deleted session. Changes are
 * listed once the server has confirmed them. Other tabs reload their list then, and a tab that becomes visible too.
 */
import type { Client, SessionInfo, SessionPage } from "@turnstream/client";
import { useEffect, useMemo, useSyncExternalStore } from "react";

export type SessionCalls = Pick<Client, "listSessions" | "createSession" | "renameSession" | "deleteSession">;

/** Commands reject with a `ClientError`. */
export interface SessionListCommands {
  /** Loads the newest sessions again. Never rejects: see `error`. */
  readonly refresh: () => Promise<void>;
  /** Loads the next page. Never rejects: see `error`. */
  readonly loadMore: () => Promise<void>;
  readonly create: (options?: { readonly id?: string; readonly title?: string }) => Promise<SessionInfo>;
  readonly rename: (sessionId: string, title: string) => Promise<void>;
  /** Deletes a session permanently, with everything in it. */
  readonly remove: (sessionId: string) => Promise<void>;
}

export interface SessionListStore extends SessionListCommands {
  readonly getSnapshot: () => SessionListState;
  readonly subscribe: (listener: () => void) => () => void;
  /** Loads the list, and reloads it after changes elsewhere. Returns a function that stops this. */
  readonly start: () => () => void;
}

const PAGE_SIZE = 30;
const CHANNEL = "turnstream:sessions";

export function createSessionListStore(client: SessionCalls): SessionListStore {
  let state = NOT_LOADED;
  let loads = 0;
  let channel: BroadcastChannel | null = null;
  const listeners = new Set<() => void>();
  const set = (next: SessionListState): void => {
    state = next;
    for (const listener of listeners) listener();
  };
  const load = async (
    before: string | null,
    apply: (state: SessionListState, page: SessionPage) => SessionListState,
  ): Promise<void> => {
    const number = ++loads;
    set({ ...state, isLoading: true });
    try {
      const page = await client.listSessions({ limit: PAGE_SIZE, ...(before !== null && { before }) });
      if (number === loads) set(apply(state, page));
    } catch (error) {
      if (number === loads) set({ ...state, isLoading: false, error });
    }
  };
  const refresh = (): Promise<void> => load(null, withFirstPage);
  const onChanged = (next: SessionListState): void => {
    set(next);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none
    channel?.postMessage("changed");
    // A load in progress may have read the list before the change.
    void refresh();
  };
  return {
    getSnapshot: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    start() {
      const onVisible = (): void => {
        if (document.visibilityState === "visible") void refresh();
      };
      const opened = new BroadcastChannel(CHANNEL);
      channel = opened;
      opened.addEventListener("message", onVisible);
      document.addEventListener("visibilitychange", onVisible);
      void refresh();
      return () => {
        document.removeEventListener("visibilitychange", onVisible);
        opened.close();
        channel = null;
      };
    },
    refresh,
    // After an error the first page is loaded again, because the list may be empty.
    loadMore: () => (state.error === null ? load(state.nextBefore, withNextPage) : refresh()),
    async create(options) {
      const session = await client.createSession(options);
      onChanged(withSession(state, session));
      return session;
    },
    async rename(sessionId, title) {
      const session = await client.renameSession(sessionId, title);
      onChanged(withSession(state, session));
    },
    async remove(sessionId) {
      await client.deleteSession(sessionId);
      onChanged(withoutSession(state, sessionId));
    },
  };
}

export interface SessionListState {
  /** The last used first. Null until the first page is loaded. */
  readonly sessions: readonly SessionInfo[] | null;
  readonly nextBefore: string | null;
  readonly isLoading: boolean;
  /** Why the last load failed. The sessions that were loaded before are still listed. */
  readonly error: unknown;
}

export const NOT_LOADED: SessionListState = {
  sessions: null,
  nextBefore: null,
  isLoading: false,
  error: null,
};

/** Replaces the first page, and keeps what was loaded after it. */
export function withFirstPage(state: SessionListState, page: SessionPage): SessionListState {
  const last = page.sessions.at(-1);
  const isAfter = ({ updatedAt }: SessionInfo): boolean =>
    page.nextBefore !== null && last !== undefined && updatedAt <= last.updatedAt;
  const older = without(state.sessions ?? [], page.sessions).filter(isAfter);
  return {
    sessions: [...page.sessions, ...older],
    nextBefore: older.length > 0 ? state.nextBefore : page.nextBefore,
    isLoading: false,
    error: null,
  };
}

export function withNextPage(state: SessionListState, page: SessionPage): SessionListState {
  const sessions = state.sessions ?? [];
  return {
    sessions: [...sessions, ...without(page.sessions, sessions)],
    nextBefore: page.nextBefore,
    isLoading: false,
    error: null,
  };
}

/** Lists a session that was just used first. */
function withSession(state: SessionListState, session: SessionInfo): SessionListState {
  return { ...state, sessions: [session, ...without(state.sessions ?? [], [session])] };
}

function withoutSession(state: SessionListState, sessionId: string): SessionListState {
  return { ...state, sessions: state.sessions?.filter(({ id }) => id !== sessionId) ?? null };
}

function without(list: readonly SessionInfo[], others: readonly SessionInfo[]): readonly SessionInfo[] {
  const ids = new Set(others.map(({ id }) => id));
  return list.filter(({ id }) => !ids.has(id));
}

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
