/**
 * `createLazyParts` loads components when a thread first renders, so that they don't slow down the first load.
 * `lazyPart` renders one of them.
 * Invariant: a lazy part renders nothing until it is loaded. The hydration render uses only preloaded parts, so it
 * equals the server's if both sides preload or neither does. A failed load is retried while a component needs it.
 */
import { type ComponentType, useEffect, useSyncExternalStore } from "react";

export interface LazyParts<Parts> {
  /** Null until they are loaded. */
  readonly get: () => Parts | null;
  /** For the hydration render: null unless they were preloaded. */
  readonly getForHydration: () => Parts | null;
  readonly subscribe: (listener: () => void) => () => void;
  /** A failed load is retried on the next call, and automatically with backoff while a component needs it. */
  readonly load: () => Promise<void>;
  /** Loads them for the first render too. */
  readonly preload: () => Promise<void>;
}

const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

export function createLazyParts<Parts>(load: () => Promise<Parts>): LazyParts<Parts> {
  let parts: Parts | null = null;
  let isPreloaded = false;
  let loading: Promise<void> | null = null;
  const listeners = new Set<() => void>();
  let retryMs = MIN_RETRY_MS;
  const retry = (): void => {
    if (listeners.size > 0) loading ??= run();
  };
  const run = async (): Promise<void> => {
    try {
      parts = await load();
      for (const listener of listeners) listener();
    } catch {
      loading = null;
      // Retry, because a turn can't continue while the user doesn't see its approval card.
      setTimeout(retry, retryMs);
      retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
    }
  };
  const loaded = (): Promise<void> => (loading ??= run());
  return {
    get: () => parts,
    getForHydration: () => (isPreloaded ? parts : null),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    load: loaded,
    async preload() {
      isPreloaded = true;
      await loaded();
    },
  };
}

/** Returns a component that renders one of the lazy parts. */
export function lazyPart<Parts, Props extends object>(
  lazyParts: LazyParts<Parts>,
  pick: (parts: Parts) => ComponentType<Props>,
): ComponentType<Props> {
  return function LazyPart(props: Props) {
    const parts = useSyncExternalStore(lazyParts.subscribe, lazyParts.get, lazyParts.getForHydration);
    useEffect(() => void lazyParts.load(), []);
    if (parts === null) return null;
    const Part = pick(parts);
    return <Part {...props} />;
  };
}
