/**
 * `stripe` is the adapter for Stripe Checkout. It is the entry point `@turnstream/payments/stripe`.
 *
 * Invariant: the order number is the idempotency key, so an order has one Checkout Session, even if a process dies
 * before it stores the session's id. A webhook is read only after the official SDK verified its signature. This file
 * imports only types of the optional package `stripe`; the caller makes the client.
 */
import { truncateText } from "@turnstream/protocol/writer";
import { abortable } from "@turnstream/server/internal";
import type { Stripe } from "stripe";
import {
  type CheckoutOrder,
  type Money,
  PaymentError,
  type PaymentProvider,
  type ProviderReport,
} from "../provider.ts";
import { fromStripeAmount, toStripeAmount } from "./stripe-amounts.ts";

export interface StripeOptions {
  /** A client of the official SDK, with its API key and its limits. */
  readonly client: Stripe;
  /** Secret of the webhook endpoint, `whsec_…`. */
  readonly webhookSecret: string;
  /** Name of the provider, in stored orders and in the notify URL. @default "stripe" */
  readonly name?: string;
  /** Current time, for tests. @default Date.now */
  readonly now?: () => number;
}

type Session = Stripe.Checkout.Session;
type Charge = Stripe.Charge;

/** Metadata that marks sessions, payments and charges as ours. An account can also have others. */
const ORDER_KEY = "turnstream_order_no";
/** How long a request may take. Then it fails with `UNAVAILABLE`. An abort ends only the wait for it. */
const TIMEOUT_MS = 10_000;
/** Older signed webhooks are refused. */
const TOLERANCE_SECONDS = 300;
const MAX_BODY_BYTES = 1_048_576;
const MAX_NAME_LENGTH = 250;
/** Stripe accepts sessions that expire after 30 minutes to 24 hours. The margin allows for clocks that differ. */
const MIN_SESSION_SECONDS = 30 * 60;
const MAX_SESSION_SECONDS = 24 * 60 * 60;
const CLOCK_MARGIN_SECONDS = 60;

/** @throws TypeError if an option is invalid */
export function stripe(options: StripeOptions): PaymentProvider {
  const { client, webhookSecret, name = "stripe", now = Date.now } = options;
  if (!/^[a-z][a-z0-9-]{0,39}$/.test(name))
    throw new TypeError(`\`name\` must have 1 to 40 of a-z 0-9 -, got "${name}".`);
  if (webhookSecret === "") throw new TypeError("`webhookSecret` must not be empty.");

  async function createSession(order: CheckoutOrder, signal: AbortSignal): Promise<Session> {
    const problem = checkMoney(order);
    if (problem !== null) throw new PaymentError("REFUSED", problem);
    let failure: unknown;
    for (const expiry of listExpiries(order.expiresAt, now())) {
      const parameters = createParameters(order, expiry);
      try {
        signal.throwIfAborted();
        const limits = { idempotencyKey: order.orderNo, timeout: TIMEOUT_MS };
        return await abortable(client.checkout.sessions.create(parameters, limits), signal);
      } catch (error) {
        failure = error;
        // An earlier checkout of this order used another expiry. The same parameters return its session.
        if (!isStripeError(error, "StripeIdempotencyError")) break;
      }
    }
    throw toPaymentError(failure, `Stripe refused the checkout of order ${order.orderNo}`);
  }

  async function retrieveSession(id: string, orderNo: string, signal: AbortSignal): Promise<Session | null> {
    const parameters = { expand: ["payment_intent.latest_charge"] };
    let session: Session;
    try {
      signal.throwIfAborted();
      const retrieved = client.checkout.sessions.retrieve(id, parameters, { timeout: TIMEOUT_MS });
      session = await abortable(retrieved, signal);
    } catch (error) {
      if (isStripeError(error, "StripeInvalidRequestError") && error.statusCode === 404) return null;
      throw new PaymentError("UNAVAILABLE", `Stripe can't be asked about order ${orderNo}.`, {
        cause: error,
      });
    }
    if (readOrderNo(session) === orderNo) return session;
    throw new PaymentError(
      "NOT_AUTHENTIC",
      `The Checkout Session of order ${orderNo} is about another order.`,
    );
  }

  return {
    name,
    formOrigin: null,
    checkMoney,

    async checkout(order, { signal }) {
      const known =
        order.providerRef === null ? null : await retrieveSession(order.providerRef, order.orderNo, signal);
      const session = known ?? (await createSession(order, signal));
      if (session.status === "expired")
        throw new PaymentError("REFUSED", `The Checkout Session of order ${order.orderNo} has expired.`);
      // A session that is complete has no URL. The return page shows its result.
      return { step: { type: "redirect", url: session.url ?? order.returnUrl }, providerRef: session.id };
    },

    readNotification({ headers, body }) {
      if (body.byteLength > MAX_BODY_BYTES)
        throw new PaymentError("MALFORMED", `The webhook has more than ${MAX_BODY_BYTES} bytes.`);
      const signature = headers.get("stripe-signature") ?? "";
      let event: Stripe.Event;
      try {
        event = client.webhooks.constructEvent(
          body,
          signature,
          webhookSecret,
          TOLERANCE_SECONDS,
          undefined,
          now(),
        );
      } catch (error) {
        if (error instanceof SyntaxError) throw new PaymentError("MALFORMED", "The webhook must be JSON.");
        // The error of the SDK quotes the header and the body, so it is no cause.
        throw new PaymentError("NOT_AUTHENTIC", "The signature of the webhook is wrong or too old.");
      }
      return readEvent(event);
    },

    async query({ orderNo, providerRef }, { signal }) {
      // Without its id a session can't be found; checkout stores the id before the user can pay.
      if (providerRef === null) return null;
      const session = await retrieveSession(providerRef, orderNo, signal);
      if (session === null || session.status === "open") return null;
      const charge = expanded(expanded(session.payment_intent)?.latest_charge ?? null);
      if (charge !== null && charge.amount_refunded > 0) return reportRefund(orderNo, charge, session.id);
      return reportSession(session, hasFailed(session) ? "failed" : null);
    },
  };
}

function checkMoney(money: Money): string | null {
  const { amount, currency } = money;
  if (!/^[A-Z]{3}$/.test(currency))
    return `The currency must be a code of three capital letters, got ${JSON.stringify(currency)}.`;
  return toStripeAmount(money) === null ? `Stripe can't charge ${amount} units of ${currency}.` : null;
}

function createParameters(
  order: CheckoutOrder,
  expiresAt: number | null,
): Stripe.Checkout.SessionCreateParams {
  const metadata = { [ORDER_KEY]: order.orderNo };
  return {
    mode: "payment",
    client_reference_id: order.orderNo,
    metadata,
    // Stripe copies it to the charge, where reports of refunds carry it.
    payment_intent_data: { metadata },
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: order.currency.toLowerCase(),
          unit_amount: toStripeAmount(order) ?? 0,
          product_data: { name: truncateText(order.description, MAX_NAME_LENGTH).trim() || order.orderNo },
        },
      },
    ],
    // Otherwise the user could pay in another currency.
    adaptive_pricing: { enabled: false },
    locale: toLocale(order.locale),
    success_url: order.returnUrl,
    cancel_url: order.returnUrl,
    ...(expiresAt !== null && { expires_at: expiresAt }),
  };
}

/**
 * Returns the possible expiries of an order's session, the one to use first: with the order, or 30 minutes later if
 * that is too soon for Stripe, or Stripe's own default. All derive from the order, so that a repeated checkout can
 * repeat the exact parameters of the first one, which its idempotency key requires.
 */
function listExpiries(expiresAt: number | null, now: number): readonly (number | null)[] {
  if (expiresAt === null) return [null];
  const exact = Math.floor(expiresAt / 1_000);
  const all = [exact, exact + MIN_SESSION_SECONDS + CLOCK_MARGIN_SECONDS, null];
  const isAllowed = (expiry: number | null): boolean => {
    const seconds = expiry === null ? MAX_SESSION_SECONDS : expiry - now / 1_000;
    return (
      seconds >= MIN_SESSION_SECONDS + (expiry === exact ? CLOCK_MARGIN_SECONDS : 0) &&
      seconds <= MAX_SESSION_SECONDS
    );
  };
  const first = all.find(isAllowed) ?? null;
  return [first, ...all.filter((expiry) => expiry !== first)];
}

const LOCALES: Readonly<Record<string, Stripe.Checkout.SessionCreateParams.Locale>> = {
  en: "en",
  vi: "vi",
  zh: "zh",
  "zh-cn": "zh",
  "zh-hk": "zh-HK",
  "zh-tw": "zh-TW",
};

function toLocale(locale: string): Stripe.Checkout.SessionCreateParams.Locale {
  const tag = locale.toLowerCase();
  return LOCALES[tag] ?? LOCALES[tag.split("-")[0] ?? ""] ?? "auto";
}

/** @returns null for an event that is not about an order of ours, or that changes nothing */
function readEvent(event: Stripe.Event): ProviderReport | null {
  switch (event.type) {
    case "checkout.session.completed":
    case "checkout.session.async_payment_succeeded":
      return reportSession(event.data.object, null);
    case "checkout.session.async_payment_failed":
    case "checkout.session.expired":
      return reportSession(event.data.object, "failed");
    case "charge.refunded": {
      const charge = event.data.object;
      const orderNo = readOrderNo(charge);
      return orderNo === null ? null : reportRefund(orderNo, charge, null);
    }
    default:
      return null;
  }
}

function readOrderNo(object: Session | Charge): string | null {
  const orderNo = object.metadata?.[ORDER_KEY] ?? null;
  if (object.object === "checkout.session" && object.client_reference_id !== orderNo) return null;
  return orderNo;
}

/** @returns null if the session is not of an order of ours */
function reportSession(session: Session, failed: "failed" | null): ProviderReport | null {
  const orderNo = readOrderNo(session);
  if (orderNo === null) return null;
  const status = failed ?? (session.payment_status === "unpaid" ? "processing" : "succeeded");
  const paid =
    status === "succeeded" ? fromStripeAmount(session.amount_total ?? 0, session.currency ?? "") : null;
  if (paid !== null && !Number.isInteger(paid.amount))
    throw new PaymentError("MALFORMED", `Stripe charged ${paid.amount} ${paid.currency} for ${orderNo}.`);
  return {
    orderNo,
    status,
    paid,
    providerRef: session.id,
    event: [session.id, status, paid?.amount ?? "", paid?.currency ?? ""].join(":"),
    reason: status === "failed" ? `Checkout Session ${session.status}` : null,
  };
}

function reportRefund(orderNo: string, charge: Charge, providerRef: string | null): ProviderReport {
  const { amount, currency } = fromStripeAmount(charge.amount_refunded, charge.currency);
  return {
    orderNo,
    status: "refunded",
    // Refunds can have a fraction of our unit, such as a cent of TWD.
    paid: { amount: Math.floor(amount), currency },
    providerRef,
    event: [charge.id, "refunded", charge.amount_refunded].join(":"),
    reason: `Charge ${charge.id}`,
  };
}

/** A session that completed with a delayed way to pay, such as a bank transfer, can still fail. */
function hasFailed(session: Session): boolean {
  if (session.status === "expired") return true;
  const intent = expanded(session.payment_intent)?.status ?? "";
  return session.payment_status === "unpaid" && ["canceled", "requires_payment_method"].includes(intent);
}

/** Stripe sends an object only where a request asks for it, otherwise its id. */
function expanded<T extends object>(value: T | string | null): T | null {
  return typeof value === "string" ? null : value;
}

interface StripeErrorFields extends Error {
  readonly type: string;
  readonly code?: string;
  readonly statusCode?: number;
}

/** Compares the type by name, because this file loads no class of the SDK. */
function isStripeError(error: unknown, type: string): error is StripeErrorFields {
  return error instanceof Error && (error as Partial<StripeErrorFields>).type === type;
}

function toPaymentError(error: unknown, what: string): PaymentError {
  const isFinal =
    isStripeError(error, "StripeIdempotencyError") ||
    (isStripeError(error, "StripeInvalidRequestError") && error.code !== "idempotency_key_in_use");
  return new PaymentError(isFinal ? "REFUSED" : "UNAVAILABLE", `${what}.`, { cause: error });
}
