/**
 * `retry` runs work again after a retryable error, and `poll` until its result is final. `backoffDelay` computes
 * delays.
 * Invariant: no attempt starts after `timeoutMs`, beyond `maxAttempts` or after an abort. The caller then gets the
 * last error or result, never the reason of the abort. Delays have jitter, so that processes that failed together do
 * not retry together. The caller decides which errors are retryable. Work is never interrupted.
 */
import { sleep as systemSleep } from "./sleep.ts";

export interface BackoffOptions {
  /** Upper bound of the first delay. Each later delay is twice as long. */
  readonly initialDelayMs: number;
  /** Upper bound of all delays. @default initialDelayMs: delays do not grow */
  readonly maxDelayMs?: number;
}

/**
 * Pure.
 * @param attempt 1 after the first failure
 * @param random from 0 up to 1; the delay is between half and all of its full length
 */
export function backoffDelay(attempt: number, options: BackoffOptions, random: number): number {
  const { initialDelayMs, maxDelayMs = initialDelayMs } = options;
  const fullMs = Math.min(maxDelayMs, initialDelayMs * 2 ** Math.min(attempt - 1, 40));
  return (fullMs / 2) * (1 + random);
}

export interface AttemptOptions extends BackoffOptions {
  /** No attempt starts later than this after the first one. The last delay is shortened to fit. @default Infinity */
  readonly timeoutMs?: number;
  /** Maximum number of attempts, including the first. @default Infinity */
  readonly maxAttempts?: number;
  /** Aborting it ends the delay, and no further attempt starts. The caller gets the last error or result. */
  readonly signal?: AbortSignal | undefined;
  readonly now?: () => number;
  /** May reject when the signal is aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<unknown>;
  readonly random?: () => number;
}

export interface RetryOptions extends AttemptOptions {
  readonly isRetryable: (error: unknown) => boolean;
  /** Called before each delay. */
  readonly onRetry?: (error: unknown, delayMs: number) => void;
}

/** @throws the last error if it is not retryable, time or attempts are used up, or the signal is aborted */
export async function retry<T>(
  work: (attempt: number) => Promise<T>,
  { isRetryable, onRetry, ...options }: RetryOptions,
): Promise<T> {
  const waitAfter = startAttempts(options);
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      const onDelay = (delayMs: number) => onRetry?.(error, delayMs);
      if (!isRetryable(error) || !(await waitAfter(attempt, onDelay))) throw error;
    }
  }
}

export interface PollOptions<T> extends AttemptOptions {
  readonly isDone: (result: T) => boolean | Promise<boolean>;
}

/**
 * Does not retry errors that the work throws.
 * @returns the last result, even if it is not final
 */
export async function poll<T>(
  work: (attempt: number) => Promise<T>,
  { isDone, ...options }: PollOptions<T>,
): Promise<T> {
  const waitAfter = startAttempts(options);
  for (let attempt = 1; ; attempt++) {
    const result = await work(attempt);
    if ((await isDone(result)) || !(await waitAfter(attempt))) return result;
  }
}

/** @returns a function that waits after an attempt, and returns false if no further one may start */
function startAttempts(options: AttemptOptions) {
  const { timeoutMs = Infinity, maxAttempts = Infinity, signal } = options;
  const { now = () => performance.now(), random = Math.random, sleep = defaultSleep } = options;
  const deadline = now() + timeoutMs;
  const isAborted = () => signal?.aborted === true;
  return async (attempt: number, onDelay?: (delayMs: number) => void): Promise<boolean> => {
    const leftMs = deadline - now();
    if (leftMs <= 0 || attempt >= maxAttempts || isAborted()) return false;
    const delayMs = Math.min(leftMs, backoffDelay(attempt, options, random()));
    onDelay?.(delayMs);
    if (delayMs === 0) return true;
    try {
      await sleep(delayMs, signal);
    } catch (error) {
      if (!isAborted()) throw error;
    }
    return !isAborted();
  };
}

function defaultSleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return systemSleep(ms, { signal });
}
