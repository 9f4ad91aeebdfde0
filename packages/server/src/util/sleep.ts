/** The one timer that code waits with: `sleep` can be aborted, woken early, and leaves the process free to exit. */

/** The longest delay that a timer of Node takes. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface SleepOptions {
  /** Aborting it rejects the sleep with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The process may exit while it sleeps. @default false */
  readonly unref?: boolean;
  /** Receives the function that ends the sleep early. Returns a cleanup, which runs however the sleep ends. */
  readonly registerWake?: (wake: () => void) => () => void;
}

export function sleep(ms: number, options: SleepOptions = {}): Promise<void> {
  const { signal, unref = false, registerWake } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const cleanUp = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      unregister?.();
    };
    const wake = (): void => {
      cleanUp();
      resolve();
    };
    const onAbort = (): void => {
      cleanUp();
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(wake, ms);
    if (unref) timer.unref();
    const unregister = registerWake?.(wake);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Resolves after the event loop has handled what is waiting, such as sockets and timers. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
