/** Retries work of a gateway while Redis or PostgreSQL can't be reached, for as long as clients may wait. */
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
