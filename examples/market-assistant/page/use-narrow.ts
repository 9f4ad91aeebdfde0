/** `useNarrow` returns true if the screen is too narrow for a list next to the thread. */
import { useSyncExternalStore } from "react";

const query = window.matchMedia("(max-width: 760px)");

function subscribe(changed: () => void): () => void {
  query.addEventListener("change", changed);
  return () => query.removeEventListener("change", changed);
}

export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => query.matches);
}
