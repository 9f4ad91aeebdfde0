/**
 * `WebhookOptions` sets how a worker sends webhooks. `resultOf` decides from a response or an error whether a delivery
 * is sent again. Types, defaults and a pure function.
 *
 * Invariant: every delivery ends after `maxAttempts` attempts. Delays have jitter, so that a receiver that was down does
 * not get all deliveries at the same moment.
 */
import type { DeliveryResult } from "../../store/ports/webhooks.ts";
import { backoffDelay } from "../../util/retry.ts";

export interface WebhookOptions {
  /**
   * Internal receivers that may be reached, as "host:port". Other internal addresses are never reached.
   * @default []
   */
  readonly allow: readonly string[];
  /** How often a delivery is sent, including the first time. Then it counts as failed. @default 16 */
  readonly maxAttempts: number;
  /** Longest delay before the second attempt. Each later delay is twice as long. @default 5000 */
  readonly initialRetryMs: number;
  /** Longest delay between two attempts. @default 21600000 */
  readonly maxRetryMs: number;
  /** How long a receiver may take to respond. Later the attempt fails with `TIMEOUT`. @default 10000 */
  readonly timeoutMs: number;
  /**
   * Deliveries that this process sends at the same time; further ones wait. With the defaults, the 20 endpoints of a
   * tenant occupy at most 80.
   * @default 128
   */
  readonly maxConcurrent: number;
  /** Deliveries to one endpoint that all processes send at the same time; further ones wait. @default 4 */
  readonly maxConcurrentPerEndpoint: number;
  /** How long delivered and failed deliveries are stored, for replays. @default 604800000 */
  readonly retentionMs: number;
}

export const DEFAULT_WEBHOOK_OPTIONS: WebhookOptions = {
  allow: [],
  maxAttempts: 16,
  initialRetryMs: 5_000,
  maxRetryMs: 6 * 60 * 60 * 1_000,
  timeoutMs: 10_000,
  maxConcurrent: 128,
  maxConcurrentPerEndpoint: 4,
  retentionMs: 7 * 24 * 60 * 60 * 1_000,
};

/** The receiver no longer exists, so no later attempt can succeed. */
const REMOVED_STATUS = 410;
/** Errors that no later attempt would solve. */
const FINAL_ERRORS: readonly string[] = ["BAD_URL", "BLOCKED"];

/**
 * @param outcome the status of the response, or the code of the error
 * @param attempts how often the delivery was sent, including this time
 * @param random from 0 up to 1
 */
export function resultOf(
  outcome: { readonly status: number } | { readonly error: string },
  attempts: number,
  options: Pick<WebhookOptions, "maxAttempts" | "initialRetryMs" | "maxRetryMs">,
  random: number,
): DeliveryResult {
  const status = "status" in outcome ? outcome.status : null;
  const error = "error" in outcome ? outcome.error : null;
  if (status !== null && status >= 200 && status < 300) return { delivered: true, status, error };
  const isFinal =
    status === REMOVED_STATUS || FINAL_ERRORS.includes(error ?? "") || attempts >= options.maxAttempts;
  const backoff = { initialDelayMs: options.initialRetryMs, maxDelayMs: options.maxRetryMs };
  const retryInMs = isFinal ? null : Math.round(backoffDelay(attempts, backoff, random));
  return { delivered: false, status, error, retryInMs };
}
