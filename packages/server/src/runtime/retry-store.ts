/** Retries work in the store while the store is unavailable for a moment, as long as this worker holds its lease. */
import { isStoreError } from "../store/errors.ts";
import { retry } from "../util/retry.ts";
import type { RuntimeContext } from "./attempt/context.ts";

const TIMEOUT_MS = 20_000;
const RETRY_DELAY_MS = 200;

/** For what only this process knows, such as the result of a tool: an outage of the database must not lose it. */
export function retryStore<T>(
  parts: Pick<RuntimeContext, "env" | "holdsLease">,
  work: () => Promise<T>,
): Promise<T> {
  return retry(work, {
    isRetryable: (error) =>
      (isStoreError(error, "UNAVAILABLE") || isStoreError(error, "BUSY")) && parts.holdsLease(),
    timeoutMs: TIMEOUT_MS,
    initialDelayMs: RETRY_DELAY_MS,
    now: () => parts.env.now(),
  });
}
