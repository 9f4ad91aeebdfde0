/**
 * `sleep` waits for a time, and `yieldToEventLoop` lets pending work run. All code that waits for a time uses `sleep`.
 * Invariant: however a sleep ends, it clears its timer, its abort listener and its wake function. An abort rejects
 * with the signal's reason; an early wake resolves. Above `MAX_TIMER_MS`, a Node timer fires at once, so callers must
 * limit `ms`.
 */

/** The longest delay that a Node timer accepts. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface SleepOptions {
  /** Aborting it rejects the sleep with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** If true, the process may exit during the sleep. @default false */
  readonly unref?: boolean;
  /**
   * Receives the function that ends the sleep early. Returns a cleanup function, which runs when the sleep ends for any
   * reason.
   */
  readonly registerWake?: (wake: () => void) => () => void;
}

export async function sleep(ms: number, options: SleepOptions = {}): Promise<void> {
  const { signal, unref = false, registerWake } = options;
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => reject(signal?.reason);
  const timer = setTimeout(resolve, ms);
  if (unref) timer.unref();
  const unregister = registerWake?.(resolve);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    unregister?.();
  }
}

/** Resolves after the event loop has handled pending work, such as sockets and timers. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
