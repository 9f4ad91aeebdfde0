/**
 * `paymentRoutes` list, read, refresh and cancel the payments of a session.
 * Invariant: payments are found only within the session in the path, which belongs to the caller. Refreshing and
 * cancelling run through `executeCommand`, so that they have the same effect as on a socket. A response never contains
 * the flags, which are for operators.
 */
import { restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { readPayment, toPage, toPaymentJson } from "../read-payments.ts";
import { paymentsOf } from "../store/payments-of.ts";
import type { Payment } from "../store/payments-part.ts";
import {
  defineRoute,
  executeCommand,
  type GatewayContext,
  MAX_PAGE,
  pageBefore,
  pageLimit,
  type Route,
  type RouteContext,
  type RouteResult,
} from "@turnstream/server/internal";
import { isFinalPayment } from "../store/payment-transitions.ts";

const DEFAULT_LISTED = 20;
const PAYMENT_PATH = "/sessions/{session}/payments/{payment}";

const list = defineRoute({
  method: "GET",
  path: "/sessions/{session}/payments",
  summary: "Lists the payments of a session, the newest first.",
  scope: "read",
  query: z.strictObject({ before: pageBefore, limit: pageLimit(MAX_PAGE - 1, DEFAULT_LISTED) }),
  responseSchema: restReplies.payments,
  async handle({ context, ref, query }) {
    const found = await paymentsOf(context.store).list(ref, { ...query, limit: query.limit + 1 });
    const { listed, end } = toPage(found, query.limit);
    const payments = await Promise.all(listed.map((payment) => toJson(context, payment)));
    return { status: 200, json: { payments, ...end } };
  },
});

const get = defineRoute({
  method: "GET",
  path: PAYMENT_PATH,
  summary:
    "Returns one payment by its `payment_request_id`. Poll it if you receive no events after the turn.",
  scope: "read",
  responseSchema: restReplies.payment,
  handle: read,
});

const refresh = defineRoute({
  method: "POST",
  path: `${PAYMENT_PATH}/refresh`,
  summary: "Asks the payment provider about the payment, at most every 3 seconds, and returns it.",
  scope: "read",
  body: z.strictObject({}),
  responseSchema: restReplies.payment,
  handle: (routeContext) => executeAndRead(routeContext, "refresh_payment"),
});

const cancel = defineRoute({
  method: "POST",
  path: `${PAYMENT_PATH}/cancel`,
  summary: "Cancels a payment that is `pending`. From `processing` on it can't be cancelled.",
  scope: "decide",
  body: z.strictObject({}),
  responseSchema: restReplies.payment,
  handle: (routeContext) => executeAndRead(routeContext, "cancel_payment"),
});

type PaymentContext = Pick<RouteContext<unknown, unknown>, "context" | "caller" | "ref" | "params">;

async function executeAndRead(
  routeContext: PaymentContext,
  type: "cancel_payment" | "refresh_payment",
): Promise<RouteResult> {
  const { context, caller, ref, params } = routeContext;
  const payment_request_id = params["payment"] ?? "";
  await executeCommand(context, caller, ref, { type, session_id: ref.session, payment_request_id });
  return read(routeContext);
}

async function read({ context, ref, params }: PaymentContext): Promise<RouteResult> {
  const payment = await readPayment(context, ref, params["payment"] ?? "");
  return { status: 200, json: { payment: await toJson(context, payment) } };
}

/** Adds the checkout URL from the request that the user saw, because the payment has only the hash of its token. */
async function toJson({ store }: GatewayContext, payment: Payment) {
  if (isFinalPayment(payment.status)) return toPaymentJson(payment);
  const interaction = await store.interactions.get(payment, payment.id);
  const { checkout_url: url = null } = (interaction?.request ?? {}) as { readonly checkout_url?: string };
  return toPaymentJson(payment, url);
}

export const paymentRoutes: readonly Route[] = [list, get, refresh, cancel];
