/**
 * `checkDuePayments` is the periodic job of workers: it asks providers about payments that stay in `processing`, and
 * expires overdue payments. `settleOverdue` does the same for one payment.
 *
 * Invariant: a payment that its provider knows expires only after the provider was asked, or could not be asked for an
 * hour. Any number of workers may run the job at the same time. A provider that fails does not block other payments.
 */
import { paymentsOf } from "./store/payments-of.ts";
import { isStoreError } from "@turnstream/server/internal";
import type { Payment } from "./store/payments-part.ts";
import { isFinalPayment } from "./store/payment-transitions.ts";
import { applyPayment, type PaymentBackend, requireKnown } from "./apply-payment.ts";
import { queryPayment } from "./query-payment.ts";

const BATCH = 100;
const CONCURRENCY = 8;
/** How long an overdue payment waits for a provider that can't be asked. A success after that is flagged. */
const GRACE_MS = 3_600_000;

/** @returns how many payments were checked */
export async function checkDuePayments(backend: PaymentBackend): Promise<number> {
  const due = await paymentsOf(backend.store).due({ limit: BATCH });
  const waiting = due.values();
  const check = async (): Promise<void> => {
    // All loops take from the same iterator.
    for (const payment of waiting)
      try {
        if (payment.overdue) await settleOverdue(backend, payment);
        else await queryPayment(backend, payment);
      } catch (error) {
        reportError(backend, payment, error);
      }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, check));
  return due.length;
}

/** Asks the provider, if it can know the order, and expires the payment if it is still open. */
export async function settleOverdue(backend: PaymentBackend, payment: Payment): Promise<Payment> {
  let current = payment;
  if (payment.status !== "pending")
    try {
      current = await queryPayment(backend, payment);
    } catch (error) {
      reportError(backend, payment, error);
      if (backend.env.now() - payment.expiresAt < GRACE_MS) return payment;
    }
  if (isFinalPayment(current.status)) return current;
  const result = await applyPayment(backend, payment.orderNo, { type: "expire" });
  return requireKnown(result, payment.id).payment;
}

function reportError({ onError }: PaymentBackend, { id }: Payment, error: unknown): void {
  // The session was erased meanwhile.
  if (isStoreError(error, "NOT_FOUND")) return;
  onError(error, { during: `the check of payment ${id}` });
}
