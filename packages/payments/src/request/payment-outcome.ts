/**
 * `paymentResult` renders a payment for the model, and `toPaymentOutcome` is what it needs of one. Pure.
 *
 * Invariant: every status has a text. A sum appears as users see it, so that the model can't mistake its unit.
 */
import { formatMoney, type Json, type PaymentBlock } from "@turnstream/protocol";
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

export function paymentResult(payment: PaymentOutcome): Json {
  const {
    description,
    order_no: order,
    amount,
    currency,
    status,
    refunded = 0,
    isPaidLate = false,
  } = payment;
  return {
    payment: description,
    order_no: order,
    amount: formatMoney("en", amount, currency),
    currency,
    status: STATUSES[status],
    ...(refunded > 0 ? { refunded: formatMoney("en", refunded, currency) } : {}),
    ...(isPaidLate ? { note: PAID_LATE } : {}),
  };
}

export function toPaymentOutcome(payment: Payment): PaymentOutcome {
  const { description, orderNo, amount, currency, status, refundedAmount, flag, flagResolvedAt } = payment;
  return {
    kind: "payment",
    description,
    order_no: orderNo,
    amount,
    currency,
    status,
    refunded: refundedAmount,
    isPaidLate: flag === "late_success" && flagResolvedAt === null,
  };
}
