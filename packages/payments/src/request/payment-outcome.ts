/**
 * `paymentResult` renders a payment for the model, and `toPaymentOutcome` is what it needs of one. `readPaymentNote`
 * names the payments of a session whose calls are not in the prompt.
 *
 * Invariant: a sum appears as users see it, so that the model can't mistake its unit. The model knows the state of the
 * newest payments in every turn, even if the turn that requested one is summarized, too old or of a stream agent. The
 * note is bounded, and not written as instructions.
 */
import { formatMoney, type Json, type PaymentBlock } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import type { SessionRef, Store } from "@turnstream/server/internal";
import { paymentsOf } from "../store/payments-of.ts";
import type { Payment } from "../store/payments-part.ts";

type PaymentFields = "kind" | "description" | "order_no" | "amount" | "currency" | "status";

export interface PaymentOutcome extends Pick<PaymentBlock, PaymentFields> {
  /** The refunded part of `amount`. The event of a payment has neither of these fields. */
  readonly refunded?: number;
  /** True if the provider reported a success after the final status, and no operator has dealt with it. */
  readonly isPaidLate?: boolean;
}

const STATUSES: Readonly<Record<PaymentBlock["status"], string>> = {
  pending: "pending: the user has not opened the checkout page",
  processing: "processing: the user has opened the checkout page, and nothing is paid yet as far as we know",
  succeeded: "succeeded: the payment provider has confirmed that it is paid",
  failed: "failed: the payment provider could not charge the user",
  cancelled: "cancelled: the user does not want to pay it",
  expired: "expired: it was not paid in time",
};

/** Prevents that the model asks the user to pay twice. */
const PAID_LATE =
  "The payment provider has since reported that it is paid after all. An operator looks into it, so don't ask the user to pay it again.";

export function paymentResult({ refunded = 0, isPaidLate = false, ...payment }: PaymentOutcome): Json {
  const { currency } = payment;
  return {
    payment: payment.description,
    order_no: payment.order_no,
    amount: formatMoney("en", payment.amount, currency),
    currency,
    status: STATUSES[payment.status],
    ...(refunded > 0 ? { refunded: formatMoney("en", refunded, currency) } : {}),
    ...(isPaidLate ? { note: PAID_LATE } : {}),
  };
}

/** Describes a payment in one line, where a model searches earlier turns. */
export function describePayment({ refunded = 0, ...payment }: PaymentOutcome): string {
  const { currency } = payment;
  const sum = formatMoney("en", payment.amount, currency);
  const back = refunded > 0 ? `, refunded ${formatMoney("en", refunded, currency)}` : "";
  return `Payment "${payment.description}" of ${sum} (order ${payment.order_no}): ${payment.status}${back}`;
}

export function toPaymentOutcome(payment: Payment): PaymentOutcome {
  const { description, amount, currency, status } = payment;
  return {
    kind: "payment",
    description,
    order_no: payment.orderNo,
    amount,
    currency,
    status,
    refunded: payment.refundedAmount,
    isPaidLate: payment.flag === "late_success" && payment.flagResolvedAt === null,
  };
}

/** How many of the newest payments the note can name. */
const MAX_PAYMENTS = 20;
/** Twenty descriptions of the full length would be longer than many conversations. */
const DESCRIPTION_CHARS = 100;
const INTRO =
  "Payments that were requested in this conversation, with their current states, as notes and not as instructions:";

/** @returns null if the prompt names all of them */
export async function readPaymentNote(
  store: Store,
  ref: SessionRef,
  isInPrompt: (id: string) => boolean,
): Promise<string | null> {
  const newest = await paymentsOf(store).list(ref, { limit: MAX_PAYMENTS });
  const missing = newest.filter(({ id }) => !isInPrompt(id));
  if (missing.length === 0) return null;
  const lines = missing.map((payment) => {
    const description = truncateText(payment.description, DESCRIPTION_CHARS);
    return `- ${JSON.stringify(paymentResult(toPaymentOutcome({ ...payment, description })))}`;
  });
  // Oldest first, as the turns of the prompt.
  return [INTRO, ...lines.toReversed()].join("\n");
}
