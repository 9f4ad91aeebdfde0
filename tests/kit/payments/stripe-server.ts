/**
 * `startStripeServer` starts a local HTTP server that plays the part of Stripe's API that Checkout needs: it creates
 * and returns Checkout Sessions, with Stripe's rules for idempotency keys and expiry. Uses no SDK.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { freePort, HOST } from "../network/free-port.ts";

type Fields = Readonly<Record<string, string>>;

interface StripeRequest {
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | null;
  /** The form of the body, with names such as `line_items[0][quantity]`. */
  readonly fields: Fields;
}

interface StripeFault {
  /** Answers with this status and error. Without a status, the server sends no answer. */
  readonly status?: number;
  readonly error?: { readonly type: string; readonly code?: string; readonly message: string };
  /** Processes the request first, so that only the answer is lost. */
  readonly isProcessed?: boolean;
}

/** The fields of Stripe's Checkout Session that matter here. */
interface StripeSession {
  readonly id: string;
  readonly object: "checkout.session";
  readonly client_reference_id: string | null;
  readonly metadata: Fields;
  readonly amount_total: number;
  readonly currency: string;
  readonly status: "open" | "complete" | "expired";
  readonly payment_status: "paid" | "unpaid" | "no_payment_required";
  readonly payment_intent: StripeIntent | string | null;
  readonly url: string | null;
  readonly expires_at: number;
}

interface StripeIntent {
  readonly id: string;
  readonly object: "payment_intent";
  readonly status: string;
  readonly metadata: Fields;
  readonly latest_charge: StripeCharge;
}

interface StripeCharge {
  readonly id: string;
  readonly object: "charge";
  readonly amount: number;
  readonly amount_refunded: number;
  readonly currency: string;
  readonly payment_intent: string;
  readonly metadata: Fields;
}

type SessionChange = Partial<
  Pick<StripeSession, "status" | "payment_status" | "amount_total" | "currency" | "client_reference_id">
> & {
  readonly intentStatus?: string;
  readonly refunded?: number;
};

export interface StripeServer {
  /** For the options of the SDK's client. */
  readonly host: string;
  readonly port: number;
  readonly requests: readonly StripeRequest[];
  readonly sessions: ReadonlyMap<string, StripeSession>;
  /** Queues faults for the next requests. */
  enqueue(...faults: StripeFault[]): void;
  /** Changes a session as a payment or a refund would. */
  change(id: string, change: SessionChange): void;
  /** Returns the body of a webhook about the session, or about its charge. */
  event(type: string, id: string): string;
  close(): Promise<void>;
}

const MIN_SECONDS = 30 * 60;
const MAX_SECONDS = 24 * 60 * 60;

/** @param now the server's clock, in milliseconds */
export async function startStripeServer(now: () => number = Date.now): Promise<StripeServer> {
  const port = await freePort();
  const requests: StripeRequest[] = [];
  const sessions = new Map<string, StripeSession>();
  const faults: StripeFault[] = [];
  const answers = new Map<string, { readonly body: string; readonly id: string }>();

  function create(fields: Fields, key: string | null): [number, object] {
    const body = JSON.stringify(fields);
    const known = key === null ? undefined : answers.get(key);
    if (known !== undefined && known.body !== body)
      return fail(400, "idempotency_error", "Keys for idempotent requests can only be used with the same…");
    if (known !== undefined) return [200, sessions.get(known.id) ?? {}];
    const seconds = Math.floor(now() / 1_000);
    const expiresAt = Number(fields["expires_at"] ?? seconds + MAX_SECONDS);
    const left = expiresAt - seconds;
    if (left < MIN_SECONDS || left > MAX_SECONDS)
      return fail(
        400,
        "invalid_request_error",
        `expires_at must be in 30 minutes to 24 hours, got ${left} s`,
      );
    const session = createSession(`cs_test_${sessions.size + 1}`, fields, expiresAt);
    sessions.set(session.id, session);
    if (key !== null) answers.set(key, { body, id: session.id });
    return [200, session];
  }

  function retrieve(id: string): [number, object] {
    const session = sessions.get(id);
    return session === undefined
      ? fail(404, "invalid_request_error", `No such checkout.session: '${id}'`, "resource_missing")
      : [200, session];
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await read(incoming);
    requests.push(request);
    const fault = faults.shift();
    const [status, body] =
      fault !== undefined && fault.isProcessed !== true
        ? [500, {}]
        : request.method === "POST" && request.path === "/v1/checkout/sessions"
          ? create(request.fields, request.idempotencyKey)
          : retrieve(request.path.replace("/v1/checkout/sessions/", ""));
    if (fault === undefined) sendJson(response, status, body);
    else if (fault.status === undefined) incoming.socket.destroy();
    else sendJson(response, fault.status, { error: fault.error ?? { type: "api_error", message: "fault" } });
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => incoming.socket.destroy());
  });
  server.listen({ host: HOST, port, exclusive: true });
  await once(server, "listening");

  return {
    host: HOST,
    port,
    requests,
    sessions,
    enqueue: (...more) => void faults.push(...more),
    change(id, change) {
      const session = sessions.get(id);
      if (session !== undefined) sessions.set(id, changeSession(session, change));
    },
    event(type, id) {
      const session = sessions.get(id);
      const intent = session?.payment_intent;
      const object =
        type.startsWith("charge.") && typeof intent === "object" ? intent?.latest_charge : collapse(session);
      return JSON.stringify({ id: `evt_${type}`, object: "event", type, data: { object } });
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function createSession(id: string, fields: Fields, expiresAt: number): StripeSession {
  const amount = Number(fields["line_items[0][price_data][unit_amount]"]);
  const currency = fields["line_items[0][price_data][currency]"] ?? "";
  const intentMetadata = pickMetadata(fields, "payment_intent_data[metadata]");
  const intent = `pi_${id}`;
  return {
    id,
    object: "checkout.session",
    client_reference_id: fields["client_reference_id"] ?? null,
    metadata: pickMetadata(fields, "metadata"),
    amount_total: amount * Number(fields["line_items[0][quantity]"]),
    currency,
    status: "open",
    payment_status: "unpaid",
    payment_intent: {
      id: intent,
      object: "payment_intent",
      status: "requires_payment_method",
      metadata: intentMetadata,
      // Stripe copies the metadata of the payment to its charge.
      latest_charge: {
        id: `ch_${id}`,
        object: "charge",
        amount,
        amount_refunded: 0,
        currency,
        payment_intent: intent,
        metadata: intentMetadata,
      },
    },
    url: `https://checkout.stripe.com/c/pay/${id}`,
    expires_at: expiresAt,
  };
}

function changeSession(session: StripeSession, change: SessionChange): StripeSession {
  const { intentStatus, refunded, ...fields } = change;
  const intent = session.payment_intent;
  if (intent === null || typeof intent === "string") return session;
  return {
    ...session,
    ...fields,
    url: (fields.status ?? session.status) === "open" ? session.url : null,
    payment_intent: {
      ...intent,
      status: intentStatus ?? intent.status,
      latest_charge: {
        ...intent.latest_charge,
        amount_refunded: refunded ?? intent.latest_charge.amount_refunded,
      },
    },
  };
}

/** Webhooks contain the id of the payment only. */
function collapse(session: StripeSession | undefined): unknown {
  const intent = session?.payment_intent;
  return { ...session, payment_intent: typeof intent === "object" ? intent?.id : intent };
}

function pickMetadata(fields: Fields, prefix: string): Fields {
  const start = `${prefix}[`;
  const found = Object.entries(fields).filter(([name]) => name.startsWith(start));
  return Object.fromEntries(found.map(([name, value]) => [name.slice(start.length, -1), value]));
}

function fail(status: number, type: string, message: string, code?: string): [number, object] {
  return [status, { error: { type, message, ...(code !== undefined && { code }) } }];
}

async function read(incoming: IncomingMessage): Promise<StripeRequest> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const key = incoming.headers["idempotency-key"];
  return {
    method: incoming.method ?? "",
    path: new URL(incoming.url ?? "/", "http://stripe").pathname,
    idempotencyKey: typeof key === "string" ? key : null,
    fields: Object.fromEntries(new URLSearchParams(Buffer.concat(pieces).toString("utf8"))),
  };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "request-id": "req_1" });
  response.end(JSON.stringify(body));
}
