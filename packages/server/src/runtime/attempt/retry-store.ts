/**
 * `retryStore` retries work in the store for up to 20 s while the store is unavailable and this worker holds its lease.
 *
 * Invariant: only UNAVAILABLE and BUSY are retried, so a fenced write fails at once. The work may have been committed
 * before a retry, so it must be repeatable.
 */
import { isStoreError } from "../../store/errors.ts";
import type { Env } from "../../util/env.ts";
import { retry } from "../../util/retry.ts";

interface Lease {
  readonly env: Pick<Env, "now">;
  holdsLease(): boolean;
}

const TIMEOUT_MS = 20_000;
const RETRY_DELAY_MS = 200;

/** Use it for data that only this process has, such as the result of a tool: a database outage must not lose it. */
export function retryStore<T>(worker: Lease, work: () => Promise<T>): Promise<T> {
  return retry(work, {
    isRetryable: (error) =>
      (isStoreError(error, "UNAVAILABLE") || isStoreError(error, "BUSY")) && worker.holdsLease(),
    timeoutMs: TIMEOUT_MS,
    initialDelayMs: RETRY_DELAY_MS,
    now: () => worker.env.now(),
  });
}
