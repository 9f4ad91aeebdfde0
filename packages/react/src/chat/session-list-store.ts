/**
 * `createSessionListStore` loads the user's list of sessions page by page, and creates, renames and deletes sessions.
 * Invariant: only the newest load changes the list, so a late response never restores a deleted session. Changes are
 * listed once the server has confirmed them. Other tabs reload their list then, and a tab that becomes visible too.
 */
import type { Client, SessionInfo, SessionPage } from "@turnstream/client";
import {
  NOT_LOADED,
  type SessionListState,
  withFirstPage,
  withNextPage,
  withoutSession,
  withSession,
} from "./session-list-state.ts";

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
