/**
 * Parts that are loaded when a thread is first drawn, so that they cost the first load nothing. Until they are there, and on
 * a server that didn't preload them, nothing stands in their place; the first drawing in a browser is always the server's.
 */
import { type ComponentType, useEffect, useSyncExternalStore } from "react";

export interface Later<Parts> {
  /** Null before they are there. */
  readonly get: () => Parts | null;
  /** For a first drawing that has to be a server's: null unless they were preloaded. */
  readonly getFirst: () => Parts | null;
  readonly subscribe: (listener: () => void) => () => void;
  /** A failure is tried again when next asked, and by itself while something waits for it: less and less often. */
  readonly load: () => Promise<void>;
  /** Loads them for first drawings too. */
  readonly preload: () => Promise<void>;
}

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;

export function createLater<Parts>(load: () => Promise<Parts>): Later<Parts> {
  let parts: Parts | null = null;
  let isFirst = false;
  let loading: Promise<void> | null = null;
  const listeners = new Set<() => void>();
  let waitMs = FIRST_RETRY_MS;
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
      setTimeout(retry, waitMs);
      waitMs = Math.min(LAST_RETRY_MS, waitMs * 2);
    }
  };
  const loaded = (): Promise<void> => (loading ??= run());
  return {
    get: () => parts,
    getFirst: () => (isFirst ? parts : null),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    load: loaded,
    async preload() {
      isFirst = true;
      await loaded();
    },
  };
}

/** A part that is one of what comes later. */
export function laterPart<Parts, Props extends object>(
  later: Later<Parts>,
  pick: (parts: Parts) => ComponentType<Props>,
): ComponentType<Props> {
  return function LaterPart(props: Props) {
    const parts = useSyncExternalStore(later.subscribe, later.get, later.getFirst);
    useEffect(() => void later.load(), []);
    if (parts === null) return null;
    const Part = pick(parts);
    return <Part {...props} />;
  };
}
