/**
 * `useRoute` returns the session that the URL names (`#/<id>`), so that a reload or a link opens it again. `useShareToken`
 * returns the token of a share link (`#/shared/<token>`).
 */
import { useSyncExternalStore } from "react";

const read = (): string | null => /^#\/([^/]+)$/.exec(location.hash)?.[1] ?? null;

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

export function useRoute(): string | null {
  return useSyncExternalStore(subscribe, read);
}

const readToken = (): string | null => /^#\/shared\/([^/]+)$/.exec(location.hash)?.[1] ?? null;

export function useShareToken(): string | null {
  return useSyncExternalStore(subscribe, readToken);
}

/** Returns the link that `useShareToken` reads. The server never receives the part after `#`. */
export function shareLink(token: string): string {
  return `${location.origin}${location.pathname}#/shared/${token}`;
}

export function goTo(session: string): void {
  location.hash = `#/${session}`;
}

/** Replaces the history entry, so that Back doesn't lead to a page without a session. */
export function replaceWith(session: string | null): void {
  history.replaceState(null, "", session === null ? location.pathname : `#/${session}`);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
