/**
 * `useSessionRoute` returns the open session and a function that opens another one. The id is in the query of the URL, so
 * a reload, a link and the back button open the same session again.
 * Invariant: other parts of the URL stay as they are. On a server no session is open.
 */
import { useCallback, useState, useSyncExternalStore } from "react";

export interface SessionRoute {
  /** Null for a new session. */
  readonly current: string | null;
  /** @param isReplacing true replaces the history entry, so that the back button skips it. @default false */
  readonly open: (sessionId: string | null, isReplacing?: boolean) => void;
  /** Returns the URL that opens a session; undefined if the route is off. */
  readonly getLink: (sessionId: string) => string | undefined;
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

/** @param parameter the name of the query parameter; false keeps the id in memory instead */
export function useSessionRoute(parameter: string | false): SessionRoute {
  const [inMemory, setInMemory] = useState<string | null>(null);
  const inUrl = useSyncExternalStore(
    subscribe,
    () => (parameter === false ? null : new URLSearchParams(location.search).get(parameter)),
    () => null,
  );
  const open = useCallback(
    (sessionId: string | null, isReplacing = false) => {
      if (parameter === false) return setInMemory(sessionId);
      const url = urlWith(parameter, sessionId);
      if (isReplacing) history.replaceState(history.state, "", url);
      else history.pushState(null, "", url);
      for (const listener of listeners) listener();
    },
    [parameter],
  );
  const getLink = useCallback(
    (sessionId: string) => (parameter === false ? undefined : urlWith(parameter, sessionId)),
    [parameter],
  );
  return { current: parameter === false ? inMemory : inUrl, open, getLink };
}

function urlWith(parameter: string, sessionId: string | null): string {
  const url = new URL(location.href);
  if (sessionId === null) url.searchParams.delete(parameter);
  else url.searchParams.set(parameter, sessionId);
  return `${url.pathname}${url.search}${url.hash}`;
}
