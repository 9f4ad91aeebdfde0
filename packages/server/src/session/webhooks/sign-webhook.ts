/**
 * `renderWebhook` renders the body of a delivery, and `signWebhook` returns its headers, by the convention of Standard
 * Webhooks. Pure.
 *
 * Invariant: a delivery has the same id and body in every attempt; only the time of the attempt and the signature
 * differ. Receivers parse the body, so a field is only added, and a change of meaning needs a new `version`.
 */
import { createHmac } from "node:crypto";
import type { ClaimedDelivery } from "../../store/webhooks.ts";

const WEBHOOK_VERSION = 1;

type Rendered = Pick<ClaimedDelivery, "type" | "createdAt" | "session" | "user" | "data">;

export function renderWebhook({ type, createdAt, session, user, data }: Rendered): string {
  return JSON.stringify({
    type,
    version: WEBHOOK_VERSION,
    timestamp: new Date(createdAt).toISOString(),
    data: { session_id: session, user_id: user, ...data },
  });
}

export interface SignedMessage {
  readonly id: string;
  /** When this attempt is sent, in seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/** @param secret `whsec_` and the key in base64 */
export function signWebhook(secret: string, { id, timestamp, body }: SignedMessage): Record<string, string> {
  const key = Buffer.from(secret.slice(secret.indexOf("_") + 1), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${signature}`,
  };
}
