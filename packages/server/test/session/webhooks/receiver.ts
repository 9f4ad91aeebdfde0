/**
 * A real HTTP server that receives webhooks and verifies each signature with the Web Crypto API, which shares no code
 * with the sender.
 */
import type { ServerResponse } from "node:http";
import { type Asked, type LocalServer, localServer } from "../../agent/built-in/local-server.ts";

interface ReceivedWebhook {
  readonly id: string;
  readonly isVerified: boolean;
  readonly body: {
    readonly type: string;
    readonly version: number;
    readonly timestamp: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
  readonly text: string;
}

export interface Receiver extends LocalServer {
  /** Webhooks to which it responded with 2xx, in the order of arrival. */
  readonly received: ReceivedWebhook[];
  /** Set by the test, once the endpoint is created. */
  secret: string;
  /** The status of its responses; null to never respond. */
  status: number | null;
}

export async function startReceiver(): Promise<Receiver> {
  const received: ReceivedWebhook[] = [];
  const server = await localServer(async (asked, response) => respond(asked, response));
  const receiver: Receiver = Object.assign(server, { received, secret: "", status: 204 });

  async function respond(asked: Asked, response: ServerResponse): Promise<void> {
    const { status } = receiver;
    if (status === null) return;
    if (status >= 200 && status < 300)
      received.push({
        id: String(asked.headers["webhook-id"]),
        isVerified: await verifyWebhook(receiver.secret, asked),
        body: JSON.parse(asked.body) as ReceivedWebhook["body"],
        text: asked.body,
      });
    response.writeHead(status, status === 302 ? { location: `${server.origin}/elsewhere` } : {}).end();
  }
  return receiver;
}

/** As docs/webhooks.md describes it: HMAC-SHA256 over id, timestamp and body, with the key in base64 after `whsec_`. */
export async function verifyWebhook(secret: string, { headers, body }: Pick<Asked, "headers" | "body">) {
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (char) => char.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [
    "verify",
  ]);
  const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
  const [version, signature = ""] = String(headers["webhook-signature"]).split(",");
  const given = Uint8Array.from(atob(signature), (char) => char.charCodeAt(0));
  return version === "v1" && crypto.subtle.verify("HMAC", key, given, new TextEncoder().encode(signed));
}
