/**
 * `SessionListState` is the loaded part of the user's list of sessions, with the pure functions that change it.
 * Invariant: a session is listed once, in the order of the server. A reload of the first page keeps the older pages
 * that were loaded before, so the list doesn't shrink while the user reads it.
 */
import type { SessionInfo, SessionPage } from "@turnstream/client";

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
export function withSession(state: SessionListState, session: SessionInfo): SessionListState {
  return { ...state, sessions: [session, ...without(state.sessions ?? [], [session])] };
}

export function withoutSession(state: SessionListState, sessionId: string): SessionListState {
  return { ...state, sessions: state.sessions?.filter(({ id }) => id !== sessionId) ?? null };
}

function without(list: readonly SessionInfo[], others: readonly SessionInfo[]): readonly SessionInfo[] {
  const ids = new Set(others.map(({ id }) => id));
  return list.filter(({ id }) => !ids.has(id));
}
