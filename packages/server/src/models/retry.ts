/** How long to wait before a model is asked again. Pure: never waits, never asks. */
import type { ModelError } from "./errors.ts";

interface RetryLimits {
  /** How often the model is asked, the first time included. */
  readonly maxTries: number;
  readonly firstMs: number;
  readonly longestMs: number;
  /** Who asks for more patience than this is not asked again: people wait for the turn. */
  readonly longestRetryAfterMs: number;
}

const RETRY_LIMITS: RetryLimits = {
  maxTries: 5,
  firstMs: 1000,
  longestMs: 30_000,
  longestRetryAfterMs: 60_000,
};

export interface RetryInput {
  /** How often the model has been asked; 1 after the first failure. */
  readonly attempt: number;
  readonly error: Pick<ModelError, "isRetryable" | "retryAfterMs">;
  /** From 0 up to 1. */
  readonly random: number;
  readonly limits?: Partial<RetryLimits>;
}

/** @returns milliseconds, or null when it should not be tried again */
export function retryDelay({ attempt, error, random, limits }: RetryInput): number | null {
  const { maxTries, firstMs, longestMs, longestRetryAfterMs } = { ...RETRY_LIMITS, ...limits };
  if (!error.isRetryable || attempt >= maxTries) return null;
  const after = error.retryAfterMs;
  // Everybody else was told the same time, so all of it is waited, and a little more at random.
  if (after !== null) return after > longestRetryAfterMs ? null : Math.ceil(after + random * firstMs);
  return Math.ceil(random * Math.min(longestMs, firstMs * 2 ** (attempt - 1)));
}
