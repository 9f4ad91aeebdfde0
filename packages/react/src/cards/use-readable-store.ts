/** `useReadableStore` returns the value of a store, or `absent` if there is no store, and renders at each change. */
import type { ReadableStore } from "@turnstream/client/view";
import { useSyncExternalStore } from "react";

const neverChanges = () => (): void => {};

/** @param absent the same object at each render */
export function useReadableStore<T>(store: ReadableStore<T> | null, absent: T): T {
  const read = store?.get ?? (() => absent);
  return useSyncExternalStore(store?.subscribe ?? neverChanges, read, read);
}
