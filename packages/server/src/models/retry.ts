/**
 * `retryDelay` computes the delay before a model call is retried. Pure: it neither waits nor calls the model.
 * Invariant: null means that the call must not be retried. That is so after a permanent error, after 5 calls, and if
 * the provider asks for more than 60 seconds. The delay is never shorter than the provider asks for. It is random, so
 * that clients don't retry together.
 */
import type { ModelError } from "./errors.ts";

const LONGEST_MS = 30_000;
/** If the provider asks for a longer delay, the call is not retried, because the user is waiting for the turn. */
const LONGEST_RETRY_AFTER_MS = 60_000;

interface RetryLimits {
  /** Maximum number of calls, including the first. @default 5 */
  readonly maxTries?: number;
  /** @default 1000 */
  readonly firstMs?: number;
}

export interface RetryInput {
  /** Number of calls so far; 1 after the first failure. */
  readonly attempt: number;
  readonly error: Pick<ModelError, "isRetryable" | "retryAfterMs">;
  /** From 0 up to 1. */
  readonly random: number;
  readonly limits?: RetryLimits;
}

/** @returns milliseconds, or null if the call must not be retried */
export function retryDelay({ attempt, error, random, limits = {} }: RetryInput): number | null {
  const { maxTries = 5, firstMs = 1_000 } = limits;
  if (!error.isRetryable || attempt >= maxTries) return null;
  const after = error.retryAfterMs;
  // Other clients got the same retry time. Wait all of it plus a random part, so that they do not all retry together.
  if (after !== null) return after > LONGEST_RETRY_AFTER_MS ? null : Math.ceil(after + random * firstMs);
  return Math.ceil(random * Math.min(LONGEST_MS, firstMs * 2 ** (attempt - 1)));
}
