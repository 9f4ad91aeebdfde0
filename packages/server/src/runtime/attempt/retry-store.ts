/**
 * `retryStore` retries work in the store while the store is unavailable and this worker has not lost its lease.
 *
 * Invariant: only UNAVAILABLE and BUSY are retried, so a fenced write fails at once. The work may have been committed
 * before a retry, so it must be repeatable. The lease may be in doubt meanwhile: the epoch fences the work.
 */
import { isStoreError } from "../../store/errors.ts";
import { retry } from "../../util/retry.ts";

interface Lease {
  hasLostLease(): boolean;
}

/** A worker that waits this long has no better choice: another attempt needs the store too. */
const TIMEOUT_MS = 10 * 60_000;
const BACKOFF = { initialDelayMs: 200, maxDelayMs: 2_000 };

/**
 * Use it for data that only this process has, such as the result of a tool: a database outage must not lose it.
 * @param signal ends the retries; the caller gets the last error
 */
export function retryStore<T>(worker: Lease, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  return retry(work, {
    isRetryable: (error) =>
      (isStoreError(error, "UNAVAILABLE") || isStoreError(error, "BUSY")) && !worker.hasLostLease(),
    timeoutMs: TIMEOUT_MS,
    ...BACKOFF,
    signal,
  });
}
