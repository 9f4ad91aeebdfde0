/** Which session is shown: the one that the address names (`#/<id>`), so that a reload and a link find it again. */
import { useSyncExternalStore } from "react";

const read = (): string | null => /^#\/([^/]+)$/.exec(location.hash)?.[1] ?? null;

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

export function useRoute(): string | null {
  return useSyncExternalStore(subscribe, read);
}

export function goTo(session: string): void {
  location.hash = `#/${session}`;
}

/** Without a step back to where nothing was chosen yet. */
export function replaceWith(session: string | null): void {
  history.replaceState(null, "", session === null ? location.pathname : `#/${session}`);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
