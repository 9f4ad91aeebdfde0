/**
 * `withTimeout` stops waiting for a promise after some time. It does not cancel the work.
 * Invariant: a process that was suspended reads the replies that arrived meanwhile before the timeout ends. The timer
 * does not keep the process alive, except with `keepAlive`.
 */

export interface TimeoutOptions<T> {
  readonly ms: number;
  /** Returns the result instead, or throws. */
  readonly onTimeout: () => T;
  /** Keeps the process alive while it waits. @default false */
  readonly keepAlive?: boolean;
}

/**
 * The timeout is counted in this many intervals. If the process was suspended, that counts as one interval only, so
 * replies that arrived meanwhile are read before the timeout.
 */
const PARTS = 4;

export async function withTimeout<T>(
  work: Promise<T>,
  { ms, onTimeout, keepAlive = false }: TimeoutOptions<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let left = PARTS;
  const late = new Promise<void>((resolve) => {
    timer = setInterval(() => --left === 0 && resolve(), ms / PARTS);
    if (!keepAlive) timer.unref();
  }).then(onTimeout);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearInterval(timer);
  }
}
