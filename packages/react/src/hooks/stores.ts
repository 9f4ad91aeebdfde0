/**
 * `useThreadStore`, `useExpandedState` and `useComposerStore` return what the components inside a provider share beside
 * the session. `useStoreSelector` returns what a function selects of one topic of the store.
 * Invariant: each is created when it is first needed, so a page loads only what its hooks use.
 */
import {
  type ComposerStore,
  createComposerStore,
  createExpandedState,
  createThreadStore,
  type ExpandedState,
  type ThreadStore,
  type ThreadTopic,
} from "@turnstream/client/view";
import { useCallback, useSyncExternalStore } from "react";
import { type DraftScope, type SessionScope, useThreadContext } from "../context.ts";

function onceFor<Scope extends object, Store>(create: (scope: Scope) => Store): (scope: Scope) => Store {
  const created = new WeakMap<Scope, Store>();
  return (scope) => {
    const store = created.get(scope) ?? create(scope);
    created.set(scope, store);
    return store;
  };
}

const threadStoreFor = onceFor(({ session }: SessionScope) => createThreadStore(session));
const expandedStateFor = onceFor((_: SessionScope) => createExpandedState());
const composerStoreFor = onceFor((draft: DraftScope) => {
  const composer = createComposerStore();
  draft.close = composer.close;
  return composer;
});

/** Notifies about parts of the session. */
export const useThreadStore = (): ThreadStore => threadStoreFor(useThreadContext().scope);

/** What the user has expanded. */
export const useExpandedState = (): ExpandedState => expandedStateFor(useThreadContext().scope);

/** The message that the user writes. */
export const useComposerStore = (): ComposerStore => composerStoreFor(useThreadContext().draft);

/** @param select must return the same reference (or an equal primitive) for unchanged data. Runs only for its topic. */
export function useStoreSelector<T>(topic: ThreadTopic, select: (store: ThreadStore) => T): T {
  const store = useThreadStore();
  const subscribe = useCallback((listener: () => void) => store.subscribe(topic, listener), [store, topic]);
  const read = (): T => select(store);
  return useSyncExternalStore(subscribe, read, read);
}
