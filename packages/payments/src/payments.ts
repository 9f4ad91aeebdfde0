/**
 * `payments` is the feature: agents request payments, users pay at a provider, and the outcome starts the next turn.
 *
 * Invariant: gateway and worker get the same feature, so that every payment that a worker requests has a checkout page.
 */
import {
  type CommandContext,
  InteractionRequested,
  parseOptions,
  requireApplied,
  type StreamBodyEvent,
  type TaskContext,
} from "@turnstream/server/internal";
import type { ServerFeature } from "@turnstream/server";
import type { PaymentBackend } from "./apply-payment.ts";
import { cancelPayment } from "./cancel-payment.ts";
import { checkDuePayments } from "./check-payments.ts";
import { type PaymentOptions, paymentOptions, type ResolvedPaymentOptions } from "./payment-options.ts";
import { refreshPayment } from "./query-payment.ts";
import { parsePayment, type PaymentSpec } from "./request/parse-payment.ts";
import { paymentRequest } from "./request/payment-request.ts";
import { checkoutRoutes } from "./routes/checkout.ts";
import { flaggedPaymentRoutes } from "./routes/flagged-payments.ts";
import { paymentNotificationRoute } from "./routes/payment-notifications.ts";
import { paymentRoutes } from "./routes/payments.ts";
import { PAYMENT_TABLES } from "./store/payment-tables.ts";

export interface Payments extends ServerFeature {
  /**
   * Requests a payment in a tool, and ends the tool. The turn ends once all other calls of this step are done. In later
   * turns, the model reads the payment and its current status as the result of the call. It throws; don't catch the error.
   */
  request(payment: PaymentSpec): never;
  /** Returns the event with which a stream agent requests a payment. @param block any id that the body chooses */
  requestEvent(block: string, payment: PaymentSpec): Extract<StreamBodyEvent, { readonly type: "request" }>;
}

/** @throws OptionsError */
export function payments(given: PaymentOptions): Payments {
  const parsed = parseOptions(paymentOptions, given, "payments()");
  // An app may know its public URL only when its server listens.
  const options: ResolvedPaymentOptions = {
    ...parsed,
    get publicUrl() {
      return given.publicUrl;
    },
  };
  const backendOf = (context: CommandContext | TaskContext): PaymentBackend => ({
    ...context,
    payments: options,
  });
  return {
    name: PAYMENT_TABLES.feature,
    tables: PAYMENT_TABLES,
    scope: "keys",
    webhookEvents: ["payment.flagged", "payment.refunded"],
    routes: [
      ...paymentRoutes,
      ...checkoutRoutes(options),
      paymentNotificationRoute(options),
      ...flaggedPaymentRoutes,
    ],
    commands: {
      async cancel_payment(context, { user: userId, clientId }, ref, { payment_request_id: payment }) {
        requireApplied(await cancelPayment(context, ref, { userId, clientId, payment }));
        return { payment_status: "cancelled" };
      },
      async refresh_payment(context, _caller, ref, { payment_request_id: payment }) {
        const { status } = await refreshPayment(backendOf(context), ref, payment);
        return { payment_status: status };
      },
    },
    tasks: [
      {
        name: "checking payments",
        every: "poll",
        run: async (context) => void (await checkDuePayments(backendOf(context))),
      },
    ],
    requestKinds: [paymentRequest(options)],
    request(spec) {
      const read = parsePayment(spec, options);
      if (!read.ok) throw new TypeError(`a tool requested an invalid payment: ${read.problem}`);
      throw new InteractionRequested(read.request);
    },
    requestEvent: (block, spec) => ({ type: "request", block, kind: "payment", spec }),
  };
}
