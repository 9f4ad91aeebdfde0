/** `useShareToken` returns the token of a share link (`#/shared/<token>`), and `shareLink` returns such a link. */
import { useSyncExternalStore } from "react";

const read = (): string | null => /^#\/shared\/([^/]+)$/.exec(location.hash)?.[1] ?? null;

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

export function useShareToken(): string | null {
  return useSyncExternalStore(subscribe, read);
}

/** The server never receives the part after `#`. */
export function shareLink(token: string): string {
  return `${location.origin}${location.pathname}#/shared/${token}`;
}
