/**
 * `WebhookOptions` sets how a worker sends webhooks. `resultOf` decides from a response or an error whether a delivery
 * is sent again. Pure.
 *
 * Invariant: every delivery ends after `maxAttempts` attempts. Delays have jitter, so that a receiver that was down
 * does not get all deliveries at the same moment.
 */
import { z } from "zod";
import { MAX_BATCH, MAX_DURATION_MS } from "../../store/rules/arguments.ts";
import type { DeliveryResult } from "../../store/webhooks.ts";
import { integer, type OptionsInput, type OptionsOutput } from "../../util/parse-options.ts";
import { backoffDelay } from "../../util/retry.ts";
import { MAX_TIMER_MS } from "../../util/sleep.ts";

const webhookShape = {
  /**
   * Internal receivers that may be reached, as `host:port`. A worker never connects to other internal addresses, also
   * if a public name resolves to one. The `allow` of `fetchPolicy` does not apply to webhooks.
   * @default []
   */
  allow: z.array(z.string()).readonly().default([]),
  /** How often a delivery is sent, including the first time. Then it counts as failed. @default 16 */
  maxAttempts: integer(1).default(16),
  /** Longest delay before the second attempt. Each later delay is twice as long. @default 5000 */
  initialRetryMs: integer(0, MAX_DURATION_MS).default(5_000),
  /** Longest delay between two attempts. @default 21600000 */
  maxRetryMs: integer(0, MAX_DURATION_MS).default(6 * 60 * 60 * 1_000),
  /** How long a receiver may take to respond. Later the attempt fails with `TIMEOUT`. @default 10000 */
  timeoutMs: integer(1, MAX_TIMER_MS).default(10_000),
  /**
   * Deliveries that this process sends at the same time. Further ones wait. With the defaults, the 20 endpoints of a
   * tenant occupy at most 80.
   * @default 128
   */
  maxConcurrent: integer(1, MAX_BATCH).default(128),
  /** Deliveries to one endpoint that all processes send at the same time. Further ones wait. @default 4 */
  maxConcurrentPerEndpoint: integer(1, MAX_BATCH).default(4),
};

export interface WebhookOptions extends OptionsInput<typeof webhookShape> {}
export interface ResolvedWebhookOptions extends OptionsOutput<typeof webhookShape> {}

export const webhookOptions: z.ZodType<ResolvedWebhookOptions, WebhookOptions> = z.strictObject(webhookShape);

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
  options: Pick<ResolvedWebhookOptions, "maxAttempts" | "initialRetryMs" | "maxRetryMs">,
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
