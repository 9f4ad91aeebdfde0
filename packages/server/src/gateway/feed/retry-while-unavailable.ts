/** Retries while Redis or PostgreSQL can't be reached, for as long as subscribers may wait. */
import { isLogError } from "../../log/errors.ts";
import { isStoreError } from "../../store/errors.ts";

const TIMEOUT_MS = 30_000;
const DELAY_MS = 100;

export async function retryWhileUnavailable<T>(
  work: () => Promise<T>,
  sleep: (ms: number) => Promise<void>,
  signal: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (true) {
    try {
      return await work();
    } catch (error) {
      const isRetryable = isLogError(error, "UNAVAILABLE") || isStoreError(error, "UNAVAILABLE");
      if (!isRetryable || signal.aborted || performance.now() > deadline) throw error;
      await sleep(DELAY_MS);
    }
  }
}
