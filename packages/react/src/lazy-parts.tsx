/**
 * `createLazyParts` loads components in one chunk when one of them first renders, so that they don't slow down the first
 * load.
 * Invariant: a failed load is retried while a component needs it, and a notice with a button stands in its place, so
 * that an approval is never missing without a word.
 */
import { type ComponentType, lazy, type ReactNode, Suspense, useEffect, useSyncExternalStore } from "react";
import { RetryNotice } from "./ui/retry-notice.tsx";
import { useMessages } from "./hooks/use-messages.ts";

/** The part's own props, and why it is not shown yet. */
export type FallbackProps<Props> = Props & { readonly hasFailed: boolean; readonly onRetry: () => void };

export interface LazyParts<Parts> {
  /** Loads them now. A failed load is retried by the next call. */
  readonly load: () => Promise<void>;
  /** Returns a component that renders one of the parts, or the fallback until it is loaded. */
  readonly part: <Props extends object>(
    pick: (parts: Parts) => ComponentType<Props>,
    Fallback?: ComponentType<FallbackProps<Props>>,
  ) => ComponentType<Props>;
  readonly getStatus: () => "waiting" | "failed" | "loaded";
  readonly subscribe: (listener: () => void) => () => void;
}

const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

export function createLazyParts<Parts>(load: () => Promise<Parts>): LazyParts<Parts> {
  let parts: Parts | null = null;
  let hasFailed = false;
  let loading: Promise<void> | null = null;
  let retryMs = MIN_RETRY_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listeners = new Set<() => void>();
  /** What React does once they are loaded. */
  let waiting: ((loaded: Parts) => void)[] = [];
  const run = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      const loaded = (parts = await load());
      hasFailed = false;
      for (const done of waiting) done(loaded);
      waiting = [];
    } catch {
      hasFailed = true;
      loading = null;
      // Retry, because a turn can't continue while the user doesn't see its approval card.
      timer = setTimeout(() => listeners.size > 0 && start(), retryMs);
      retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
    }
    for (const listener of listeners) listener();
  };
  const start = (): Promise<void> => (loading ??= run());
  const onRetry = (): void => void start();
  const getStatus = () => (parts !== null ? "loaded" : hasFailed ? "failed" : "waiting");
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return {
    load: start,
    getStatus,
    subscribe,
    part<Props extends object>(
      pick: (loaded: Parts) => ComponentType<Props>,
      Fallback: ComponentType<FallbackProps<Props>> = LoadNotice,
    ) {
      const Part: ComponentType<Props> = lazy(() => {
        void start();
        // Calls back at once if they are loaded, so that the part renders without its fallback, also on a server.
        const then = (done: (module: { default: ComponentType<Props> }) => void): void => {
          const resolve = (loaded: Parts): void => done({ default: pick(loaded) });
          if (parts === null) waiting.push(resolve);
          else resolve(parts);
        };
        // oxlint-disable-next-line unicorn/no-thenable -- only React calls it
        return { then } as Promise<{ default: ComponentType<Props> }>;
      });
      return function LazyPart(props: Props) {
        // A render from here shows the loaded part at once. React would show a fallback for at least 300 ms.
        const status = useSyncExternalStore(subscribe, getStatus, getStatus);
        // React asks only once, and a retry that no component waited for was dropped.
        useEffect(() => void start(), []);
        const fallback = <Fallback {...props} hasFailed={status === "failed"} onRetry={onRetry} />;
        return (
          <Suspense fallback={fallback}>
            <Part {...props} />
          </Suspense>
        );
      };
    },
  };
}

function LoadNotice({ hasFailed, onRetry }: FallbackProps<object>) {
  const strings = useMessages();
  if (!hasFailed) return null;
  return <RetryNotice strings={strings} text={strings.thread.loadFailed} onRetry={onRetry} />;
}

/** For a part that has what to show instead as its children. */
export const ShowChildren = ({ children }: { readonly children: ReactNode }): ReactNode => children;

/** For a part without which the page still works. */
export const NoNotice = (): null => null;
