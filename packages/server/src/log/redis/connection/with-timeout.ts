/**
 * `withTimeout` rejects with UNAVAILABLE if a promise takes too long. It does not cancel the work.
 *
 * Invariant: a process that was suspended reads the replies that arrived meanwhile before the timeout ends. The timer
 * does not keep the process alive, except with `keepAlive`.
 */
import { LogError } from "../../errors.ts";

export interface TimeoutOptions {
  readonly ms: number;
  /** The start of the error message, such as "No answer". */
  readonly message: string;
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
  { ms, message, keepAlive = false }: TimeoutOptions,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let left = PARTS;
  const late = new Promise<never>((_, reject) => {
    const fail = () => reject(new LogError("UNAVAILABLE", { detail: `${message} in ${ms} ms` }));
    timer = setInterval(() => --left === 0 && fail(), ms / PARTS);
    if (!keepAlive) timer.unref();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearInterval(timer);
  }
}
