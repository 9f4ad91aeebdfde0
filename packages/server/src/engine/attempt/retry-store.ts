/**
 * `retryStore` retries work in the store while the store is unavailable and this worker has not lost its lease, and
 * reports an outage that lasts.
 *
 * Invariant: only UNAVAILABLE and BUSY are retried, so a fenced write fails at once. The work may have been committed
 * before a retry, so it must be repeatable. The lease may be in doubt meanwhile: the epoch fences the work. However many
 * turns wait, a worker reports an outage once.
 */
import type { Lease } from "../lease/lease.ts";
import { isStoreError } from "../../store/errors.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import { retry } from "../../util/retry.ts";

interface StoreUser {
  readonly lease: Pick<Lease, "isLost">;
  readonly onError: ErrorHandler;
}

/** A worker that waits this long has no better choice: another attempt needs the store too. */
const TIMEOUT_MS = 10 * 60_000;
const BACKOFF = { initialDelayMs: 200, maxDelayMs: 2_000 };
/** Shorter outages, such as a failover, are not reported. */
const REPORT_AFTER_MS = 2_500;
/** Refusals that follow each other within this time are one outage. */
const CALM_MS = 30_000;

/** When each worker last had to wait, by `performance.now()`, after it had reported that. */
const reportedWaits = new WeakMap<StoreUser, number>();

/**
 * Use it for data that only this process has, such as the result of a tool: a database outage must not lose it.
 * @param signal ends the retries; the caller gets the last error
 */
export function retryStore<T>(worker: StoreUser, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const started = performance.now();
  return retry(work, {
    onRetry: (error) => {
      const now = performance.now();
      if (now - started < REPORT_AFTER_MS) return;
      const isKnown = now - (reportedWaits.get(worker) ?? -Infinity) < CALM_MS;
      reportedWaits.set(worker, now);
      if (!isKnown) worker.onError(error, { during: "writing to the store; turns wait for it" });
    },
    isRetryable: (error) =>
      (isStoreError(error, "UNAVAILABLE") || isStoreError(error, "BUSY")) && !worker.lease.isLost(),
    timeoutMs: TIMEOUT_MS,
    ...BACKOFF,
    signal,
  });
}
