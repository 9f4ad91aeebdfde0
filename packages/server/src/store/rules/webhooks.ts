/**
 * `checkEndpoint`, `checkWebhookEvent` and their siblings validate webhooks for both store implementations, and
 * `webhookMessageId` derives the id of a delivery. Pure.
 *
 * Invariant: the same session and key always give the same id, because receivers ignore repeats by it. A URL is only
 * checked for its form here. The worker checks its address before it connects.
 */
import { createHash } from "node:crypto";
import { StoreError } from "../errors.ts";
import {
  DELIVERY_STATES,
  type DeliveryPage,
  type DeliveryResult,
  type NewWebhookEndpoint,
  type TakeDeliveriesQuery,
  WEBHOOK_EVENTS,
  type WebhookEvent,
  type WebhookEventType,
} from "../ports/webhooks.ts";
import { MAX_BATCH, MAX_PAGE } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkCount, checkDuration, checkId, checkLimit, checkText } from "./arguments.ts";

const MAX_URL = 2_048;
const MAX_DATA_BYTES = 4_096;
export const WEBHOOK_ID_BYTES = 12;
export const WEBHOOK_SECRET_BYTES = 32;

/** @param random WEBHOOK_ID_BYTES unpredictable bytes */
export function webhookEndpointId(random: Uint8Array): string {
  return `wh_${Buffer.from(random).toString("hex")}`;
}

/**
 * Returns the secret in the format of Standard Webhooks.
 * @param random WEBHOOK_SECRET_BYTES unpredictable bytes
 */
export function webhookSecret(random: Uint8Array): string {
  return `whsec_${Buffer.from(random).toString("base64")}`;
}

/** Returns the value of `webhook-id`. */
export function webhookMessageId({ tenant, session }: SessionRef, key: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([tenant, session, key]))
    .digest("hex");
  return `msg_${digest.slice(0, 32)}`;
}

/** Returns true for an http or https URL without credentials. */
export function isWebhookUrl(text: string): boolean {
  const url = text.length > MAX_URL || /[\0-\x20]/.test(text) ? null : URL.parse(text);
  return (
    url !== null &&
    (url.protocol === "https:" || url.protocol === "http:") &&
    url.username === "" &&
    url.password === ""
  );
}

export function checkEndpoint({ id, url, events = WEBHOOK_EVENTS }: NewWebhookEndpoint): {
  readonly url: string;
  readonly events: WebhookEventType[];
} {
  if (id !== undefined) checkId(id, "webhook id");
  if (!isWebhookUrl(url))
    throw new StoreError(
      "INVALID",
      `webhook url must be an http or https URL without credentials, at most ${MAX_URL} characters`,
    );
  if (events.length === 0 || !events.every((event) => WEBHOOK_EVENTS.includes(event)))
    throw new StoreError("INVALID", `webhook events must be one or more of ${WEBHOOK_EVENTS.join(", ")}`);
  return { url, events: WEBHOOK_EVENTS.filter((event) => events.includes(event)) };
}

/** @returns the data as it is stored */
export function checkWebhookEvent({ type, key, data }: WebhookEvent): string {
  if (!WEBHOOK_EVENTS.includes(type)) throw new StoreError("INVALID", "webhook event type");
  if (key === "") throw new StoreError("INVALID", "webhook event key must not be empty");
  const json = JSON.stringify(data);
  if (Buffer.byteLength(json) > MAX_DATA_BYTES) throw new StoreError("TOO_LARGE", "webhook event data");
  return json;
}

export function checkTake({ limit, perEndpoint, leaseMs }: TakeDeliveriesQuery): void {
  checkLimit(limit, MAX_BATCH);
  checkLimit(perEndpoint, MAX_BATCH);
  checkDuration(leaseMs, "leaseMs");
}

export function checkResult(result: DeliveryResult): void {
  if (result.status !== null) checkCount(result.status, "status");
  if (result.error !== null) checkText(result.error, "error");
  if (!result.delivered && result.retryInMs !== null) checkDuration(result.retryInMs, "retryInMs");
}

export function checkDeliveryPage({ limit, before, state }: DeliveryPage): void {
  checkLimit(limit, MAX_PAGE);
  if (before !== undefined) checkId(before, "before");
  if (state !== undefined && !DELIVERY_STATES.includes(state))
    throw new StoreError("INVALID", `state must be one of ${DELIVERY_STATES.join(", ")}`);
}

export function tooManyEndpoints(max: number): StoreError {
  return new StoreError("INVALID", `webhook endpoint (a tenant has at most ${max})`);
}
