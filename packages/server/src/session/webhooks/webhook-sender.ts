/**
 * `WebhookSender` sends due webhook deliveries of all tenants from one process, and records their results.
 *
 * Invariant: `poll` never waits for a receiver, and an endpoint gets only a few of the slots, so a receiver that does
 * not respond delays no other. A delivery may arrive twice, if the process dies between the response and its record; it
 * has the same id both times. Redirects are not followed, and internal addresses are refused.
 */
import { isFetchError } from "../../safe-fetch/errors.ts";
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import { safeFetch } from "../../safe-fetch/safe-fetch.ts";
import type { ClaimedDelivery, DeliveryResult } from "../../store/webhooks.ts";
import type { Store } from "../../store/store.ts";
import type { Env } from "../../util/env.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import { renderWebhook, signWebhook } from "./sign-webhook.ts";
import { resultOf, type ResolvedWebhookOptions } from "./webhook-options.ts";

/** How much longer a delivery stays leased than its request may take, for recording the result. */
const LEASE_MARGIN_MS = 30_000;
/** A response body is never read. */
const MAX_RESPONSE_BYTES = 1_000_000;

export interface WebhookSenderContext {
  readonly store: Pick<Store, "webhooks">;
  readonly env: Env;
  readonly onError: ErrorHandler;
}

export class WebhookSender {
  readonly #context: WebhookSenderContext;
  readonly #options: ResolvedWebhookOptions;
  readonly #policy: FetchPolicy;
  readonly #sending = new Set<Promise<void>>();
  readonly #closed = new AbortController();
  #polling: Promise<void> | null = null;
  /** The number of requests that are running. */
  #busy = 0;

  /** @param policy the limits of the worker's other fetches. Its `allow` and `maxRedirects` do not apply here. */
  constructor(context: WebhookSenderContext, options: ResolvedWebhookOptions, policy: FetchPolicy = {}) {
    const { allow, timeoutMs } = options;
    this.#context = context;
    this.#options = options;
    this.#policy = {
      ...policy,
      allow,
      timeoutMs,
      idleMs: timeoutMs,
      maxRedirects: 0,
      maxBytes: MAX_RESPONSE_BYTES,
    };
  }

  /** Starts sending the deliveries that are due now. Concurrent calls share one run. */
  poll(): Promise<void> {
    this.#polling ??= this.#take().finally(() => {
      this.#polling = null;
    });
    return this.#polling;
  }

  /** Aborts the requests that are running. Other processes send these deliveries again. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#polling?.catch(() => undefined);
    await Promise.all(this.#sending);
  }

  async #take(): Promise<void> {
    const { maxConcurrent, maxConcurrentPerEndpoint, timeoutMs } = this.#options;
    const limit = maxConcurrent - this.#busy;
    if (limit <= 0 || this.#closed.signal.aborted) return;
    const query = { limit, perEndpoint: maxConcurrentPerEndpoint, leaseMs: timeoutMs + LEASE_MARGIN_MS };
    for (const delivery of await this.#context.store.webhooks.take(query)) this.#start(delivery);
  }

  #start(delivery: ClaimedDelivery): void {
    const sent = this.#process(delivery).finally(() => this.#sending.delete(sent));
    this.#sending.add(sent);
  }

  async #process(delivery: ClaimedDelivery): Promise<void> {
    this.#busy++;
    try {
      const isDelivered = await this.#deliver(delivery).finally(() => this.#busy--);
      // The endpoint has a free slot now, and its next delivery should not wait for the next poll.
      if (isDelivered) await this.poll();
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#context.onError(error, { during: `webhook ${delivery.id}` });
    }
  }

  /** @returns true if the receiver accepted it */
  async #deliver(delivery: ClaimedDelivery): Promise<boolean> {
    const { env, store } = this.#context;
    const random = (env.randomBytes(1)[0] ?? 0) / 256;
    const outcome = await this.#send(delivery);
    const result: DeliveryResult =
      outcome === null
        ? { delivered: false, status: null, error: null, retryInMs: 0 }
        : resultOf(outcome, delivery.attempts, this.#options, random);
    await store.webhooks.settle(delivery, result);
    return result.delivered;
  }

  /** Returns null if this process is closing. */
  async #send(
    delivery: ClaimedDelivery,
  ): Promise<{ readonly status: number } | { readonly error: string } | null> {
    const { signal } = this.#closed;
    const body = renderWebhook(delivery);
    const timestamp = Math.floor(this.#context.env.now() / 1_000);
    try {
      const response = await safeFetch(delivery.url, {
        policy: this.#policy,
        signal,
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...signWebhook(delivery.secret, { id: delivery.id, timestamp, body }),
        },
        body,
      });
      response.cancel();
      return { status: response.status };
    } catch (error) {
      if (signal.aborted) return null;
      if (!isFetchError(error)) throw error;
      return { error: error.code };
    }
  }
}
