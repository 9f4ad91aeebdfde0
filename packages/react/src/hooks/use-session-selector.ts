/**
 * `useSessionSelector` returns a part of the session view and re-renders only when that part changes.
 * `useStoreSelector` does the same for one topic of the store.
 * Invariant: a selector must return the same reference, or an equal primitive, for unchanged data. Otherwise React
 * re-renders in a loop.
 */
import type { ConnectionView, Session, SessionView } from "@turnstream/client";
import { useCallback, useSyncExternalStore } from "react";
import { useThreadContext } from "../context.ts";
import type { ThreadTopic, ThreadStore } from "@turnstream/client/view";

/** @param select must return the same reference (or an equal primitive) for unchanged data */
export function useSessionSelector<T>(select: (view: SessionView) => T): T {
  return useStoreSelector("view", (store) => select(store.getView()));
}

/** Returns the session of the provider, for its commands. Never causes a re-render. */
export function useSession(): Session {
  return useThreadContext().session;
}

/** Returns the whole session view. Re-renders with every change. */
export function useSessionView(): SessionView {
  return useSessionSelector((view) => view);
}

export function useConnection(): ConnectionView {
  return useSessionSelector(({ connection }) => connection);
}

/** Like `useSessionSelector`, but runs only when the topic changes. */
export function useStoreSelector<T>(topic: ThreadTopic, select: (store: ThreadStore) => T): T {
  const { store } = useThreadContext();
  const subscribe = useCallback((listener: () => void) => store.subscribe(topic, listener), [store, topic]);
  const read = (): T => select(store);
  return useSyncExternalStore(subscribe, read, read);
}
