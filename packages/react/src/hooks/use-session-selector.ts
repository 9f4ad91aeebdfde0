/** A part of what a session shows, drawn anew only when that part is another. */
import type { ConnectionView, Session, SessionView } from "@turnstream/client";
import { useCallback, useSyncExternalStore } from "react";
import { useShared } from "../context.ts";
import type { ThreadTopic, ThreadStore } from "@turnstream/client/view";

/** @param select must give the same reference (or an equal primitive) for what hasn't changed */
export function useView<T>(select: (view: SessionView) => T): T {
  return useStore("view", (store) => select(store.getView()));
}

/** Everything, and what can be done; draws anew with every change. */
export function useSession(): { readonly view: SessionView; readonly session: Session } {
  const { session } = useShared();
  return { view: useView((view) => view), session };
}

export function useConnection(): ConnectionView {
  return useView(({ connection }) => connection);
}

/** Looks only when the channel tells; otherwise as `useView`. */
export function useStore<T>(channel: ThreadTopic, select: (store: ThreadStore) => T): T {
  const { store } = useShared();
  const subscribe = useCallback(
    (listener: () => void) => store.subscribe(channel, listener),
    [store, channel],
  );
  const read = (): T => select(store);
  return useSyncExternalStore(subscribe, read, read);
}
