/**
 * `WebhookReceiver` is the HTTP server of a product: it verifies the signature of each webhook and records those that it
 * accepts. It can be closed and opened again on the same port. Does not know which webhooks to expect.
 *
 * Invariant: a webhook counts as accepted only if the response with a 2xx status was written.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { Store } from "@turnstream/server/internal";
import { freePort } from "@turnstream/testkit/network/free-port.ts";

export interface WebhookBody {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly session_id: string };
}

/** One request, before the response. */
export interface IncomingWebhook {
  readonly id: string;
  /** The `user-agent` of the request, which names the worker that sent it. */
  readonly sender: string;
}

interface ReceiverEvents {
  /** Returns false to drop the connection instead of accepting the webhook. */
  readonly onRequest?: (webhook: IncomingWebhook) => boolean;
  readonly onAccepted?: (webhook: IncomingWebhook) => void;
}

export class WebhookReceiver {
  /** The bodies of accepted webhooks, by `webhook-id`. */
  readonly accepted = new Map<string, string[]>();
  /** The number of requests whose signature was wrong. */
  unverified = 0;
  readonly #port: number;
  readonly #events: ReceiverEvents;
  #secret = "";
  #server: Server | null = null;

  private constructor(port: number, events: ReceiverEvents) {
    this.#port = port;
    this.#events = events;
  }

  static async start(events: ReceiverEvents = {}): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(await freePort(), events);
    await receiver.open();
    return receiver;
  }

  /** As `WebhookOptions.allow` takes it. */
  get place(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** The accepted webhooks, each once. */
  get bodies(): WebhookBody[] {
    return [...this.accepted.values()].map(([first = ""]) => JSON.parse(first) as WebhookBody);
  }

  /** Registers the endpoint. Call it before the first webhook. */
  async subscribe({ webhooks }: Pick<Store, "webhooks">, tenant: string): Promise<void> {
    this.#secret = (await webhooks.create(tenant, { url: `http://${this.place}/hooks` })).secret;
  }

  async open(): Promise<void> {
    const server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      request.on("end", () => {
        const webhook = {
          id: String(request.headers["webhook-id"]),
          sender: String(request.headers["user-agent"]),
        };
        if (!this.#isVerified(request.headers, body)) this.unverified++;
        if (this.#events.onRequest?.(webhook) === false) return void request.socket.destroy();
        response.writeHead(204).end();
        this.accepted.set(webhook.id, [...(this.accepted.get(webhook.id) ?? []), body]);
        this.#events.onAccepted?.(webhook);
      });
    });
    await once(server.listen(this.#port, "127.0.0.1"), "listening");
    this.#server = server;
  }

  /** Refuses connections from now on. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  #isVerified(headers: IncomingHttpHeaders, body: string): boolean {
    const key = Buffer.from(this.#secret.replace("whsec_", ""), "base64");
    const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
    return headers["webhook-signature"] === `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  }
}
