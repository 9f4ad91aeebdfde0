/**
 * `findBrowserTabs` connects tabs through the browser's locks and broadcast channels. `browserLifecycle` reports page
 * events.
 * Invariant: it returns null where tabs can't communicate. `onTaken` is called only for a granted lock that another tab
 * stole. After `release`, neither callback of the lock is called.
 */
import type { TabLock, LockRequest, PageLifecycle, Tabs } from "./types.ts";

/** Returns null if tabs can't communicate: not a browser, an old one, or an insecure page. */
export function findBrowserTabs(): Tabs | null {
  if (typeof document === "undefined" || typeof BroadcastChannel === "undefined") return null;
  const locks = (globalThis.navigator as Partial<Navigator> | undefined)?.locks;
  if (locks === undefined) return null;
  return {
    openChannel(name, onMessage) {
      const channel = new BroadcastChannel(name);
      channel.addEventListener("message", ({ data }) => onMessage(data));
      return {
        post(message) {
          try {
            // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has one origin
            channel.postMessage(message);
          } catch {
            // A value wrapped by a framework, such as a proxy, can't be cloned as it is.
            // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has one origin
            channel.postMessage(JSON.parse(JSON.stringify(message)));
          }
        },
        close: () => channel.close(),
      };
    },
    requestLock: (name, options) => requestLock(locks, name, options),
  };
}

function requestLock(
  locks: LockManager,
  name: string,
  { steal, onGranted, onTaken, onRefused }: LockRequest,
): TabLock {
  const abort = new AbortController();
  let release: (() => void) | undefined;
  let isReleased = false;
  const hold = (): Promise<void> | undefined => {
    if (isReleased) return undefined;
    return new Promise<void>((resolve) => {
      release = resolve;
      onGranted();
    });
  };
  // A stolen lock is granted immediately, so there is nothing to abort.
  const how: LockOptions = steal ? { steal: true } : { signal: abort.signal };
  locks.request(name, how, hold).catch((error: unknown) => {
    if (isReleased) return;
    if (release === undefined) return onRefused(error);
    isReleased = true;
    onTaken();
  });
  return {
    release() {
      isReleased = true;
      release?.();
      abort.abort();
    },
  };
}

export const browserLifecycle: PageLifecycle = {
  isVisible: () => typeof document !== "undefined" && document.visibilityState === "visible",
  listen(on) {
    const visibility = (): void => on.onVisible(document.visibilityState === "visible");
    const left = (): void => on.onLeave();
    const shown = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) on.onShow();
    };
    document.addEventListener("visibilitychange", visibility);
    // A frozen page misses messages and must request them after it resumes.
    document.addEventListener("resume", visibility);
    globalThis.addEventListener("pagehide", left);
    globalThis.addEventListener("pageshow", shown);
    return () => {
      document.removeEventListener("visibilitychange", visibility);
      document.removeEventListener("resume", visibility);
      globalThis.removeEventListener("pagehide", left);
      globalThis.removeEventListener("pageshow", shown);
    };
  },
};
