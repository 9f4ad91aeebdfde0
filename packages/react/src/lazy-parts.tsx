/**
 * Parts that are loaded when a thread is first drawn, so that they cost the first load nothing. Until they are there, and on
 * a server that didn't preload them, nothing stands in their place; the first drawing in a browser is always the server's.
 */
import { type ComponentType, useEffect, useSyncExternalStore } from "react";

export interface LazyParts<Parts> {
  /** Null before they are there. */
  readonly get: () => Parts | null;
  /** For a first drawing that has to be a server's: null unless they were preloaded. */
  readonly getForHydration: () => Parts | null;
  readonly subscribe: (listener: () => void) => () => void;
  /** A failure is tried again when next asked, and by itself while something waits for it: less and less often. */
  readonly load: () => Promise<void>;
  /** Loads them for first drawings too. */
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
      // An approval that nobody sees holds everything up.
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

/** A part that is one of what comes later. */
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
