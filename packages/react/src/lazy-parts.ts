/**
 * `createLazyParts` loads components when a thread first renders, so that they don't slow down the first load.
 * Invariant: the hydration render uses only preloaded parts, so it equals the server's if both sides preload or neither
 * does. A failed load is retried while a component needs it.
 */
export interface LazyParts<Parts> {
  /** Null until they are loaded. */
  readonly get: () => Parts | null;
  /** For the hydration render: null unless they were preloaded. */
  readonly getForHydration: () => Parts | null;
  /** True from a failed load until one succeeds. */
  readonly hasFailed: () => boolean;
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
  let hasFailed = false;
  let retryMs = MIN_RETRY_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const retry = (): void => {
    if (listeners.size > 0) loading ??= run();
  };
  const run = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      parts = await load();
      hasFailed = false;
    } catch {
      hasFailed = true;
      loading = null;
      // Retry, because a turn can't continue while the user doesn't see its approval card.
      timer = setTimeout(retry, retryMs);
      retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
    }
    for (const listener of listeners) listener();
  };
  const loaded = (): Promise<void> => (loading ??= run());
  return {
    get: () => parts,
    getForHydration: () => (isPreloaded ? parts : null),
    hasFailed: () => hasFailed,
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
