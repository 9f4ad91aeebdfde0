/**
 * `retryWhileUnavailable` retries an operation of the gateway while Redis or PostgreSQL is unavailable.
 * Invariant: it retries only errors with code `UNAVAILABLE`, and for at most 30 seconds, because clients are waiting.
 * The operation can run several times, so it must be safe to repeat. Aborting the signal ends the retries with the
 * last error.
 */
import { isLogError } from "../../log/errors.ts";
import { isStoreError } from "../../store/errors.ts";
import { retry } from "../../util/retry.ts";

const TIMEOUT_MS = 30_000;
const RETRY_DELAY_MS = 100;

export function retryWhileUnavailable<T>(
  work: () => Promise<T>,
  sleep: (ms: number) => Promise<void>,
  signal: AbortSignal,
): Promise<T> {
  return retry(work, {
    isRetryable: (error) => isLogError(error, "UNAVAILABLE") || isStoreError(error, "UNAVAILABLE"),
    timeoutMs: TIMEOUT_MS,
    initialDelayMs: RETRY_DELAY_MS,
    signal,
    sleep,
  });
}
