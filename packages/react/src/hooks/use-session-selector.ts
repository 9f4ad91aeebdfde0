/** A part of what a session shows, drawn anew only when that part is another. */
import type { ConnectionView, Session, SessionView } from "@turnstream/client";
import { useCallback, useSyncExternalStore } from "react";
import { useThreadContext } from "../context.ts";
import type { ThreadTopic, ThreadStore } from "@turnstream/client/view";

/** @param select must give the same reference (or an equal primitive) for what hasn't changed */
export function useSessionSelector<T>(select: (view: SessionView) => T): T {
  return useStoreSelector("view", (store) => select(store.getView()));
}

/** The session of the provider, for its commands. Never draws again. */
export function useSession(): Session {
  return useThreadContext().session;
}

/** Everything that the session shows; draws again with every change. */
export function useSessionView(): SessionView {
  return useSessionSelector((view) => view);
}

export function useConnection(): ConnectionView {
  return useSessionSelector(({ connection }) => connection);
}

/** Runs only when the topic has changed; otherwise as `useSessionSelector`. */
export function useStoreSelector<T>(topic: ThreadTopic, select: (store: ThreadStore) => T): T {
  const { store } = useThreadContext();
  const subscribe = useCallback((listener: () => void) => store.subscribe(topic, listener), [store, topic]);
  const read = (): T => select(store);
  return useSyncExternalStore(subscribe, read, read);
}
