/**
 * `readPayment` and `resolveFlag` read a payment and resolve its flag; `toPaymentJson` and its variant for operators
 * convert a payment for clients.
 *
 * Invariant: users never see flags, the provider's number or its texts. A final payment has no checkout URL.
 */
import { paymentsOf } from "./store/payments-of.ts";
import { type Backend, type SessionRef, StoreError } from "@turnstream/server/internal";
import type { FlagResolution, Payment } from "./store/payments-part.ts";
import { isFinalPayment } from "./store/payment-transitions.ts";

type PaymentReader = Pick<Backend, "store">;

/** @throws StoreError NOT_FOUND */
export async function readPayment({ store }: PaymentReader, ref: SessionRef, id: string): Promise<Payment> {
  const payment = await paymentsOf(store).get(ref, id);
  if (payment === null) throw new StoreError("NOT_FOUND", `payment ${id}`);
  return payment;
}

/**
 * Resolves the flag of a payment. A repeat changes nothing.
 * @throws StoreError NOT_FOUND, or INVALID for a note that is too long
 */
export async function resolveFlag(
  { store }: PaymentReader,
  tenant: string,
  id: string,
  resolution: FlagResolution,
): Promise<{ readonly resolved: boolean; readonly payment: Payment }> {
  return await store.transaction(async (tx) => {
    const result = await paymentsOf(tx).resolveFlag(tenant, id, resolution);
    if (result === null) throw new StoreError("NOT_FOUND", `payment ${id}`);
    const { session } = result.payment;
    if (result.resolved)
      await tx.audit.add(tenant, {
        actor: null,
        action: "payment.flag_resolved",
        subject: { session, interaction: id },
        detail: { from: resolution.by },
      });
    return result;
  });
}

/** Cuts a page for which one payment more than its limit was read. */
export function toPage(found: readonly Payment[], limit: number) {
  const listed = found.slice(0, limit);
  const hasMore = found.length > limit;
  return { listed, end: { has_more: hasMore, next_before: hasMore ? (listed.at(-1)?.n ?? null) : null } };
}

/** @param checkoutUrl of the payment's block, if the caller has it */
export function toPaymentJson(payment: Payment, checkoutUrl: string | null = null) {
  const { id, orderNo, description, amount, currency, status, createdAt, changedAt, expiresAt } = payment;
  return {
    payment_request_id: id,
    merchant_order_no: orderNo,
    item_desc: description,
    amount,
    currency,
    // Whole dollars, which is how amounts of TWD are counted.
    amount_twd: currency === "TWD" ? amount : null,
    status,
    checkout_url: isFinalPayment(status) ? null : checkoutUrl,
    created_at: createdAt,
    changed_at: changedAt,
    expires_at: expiresAt,
    refunded_amount: payment.refundedAmount === 0 ? null : payment.refundedAmount,
  };
}

/** Without the checkout URL, because only the user pays. */
export function toOperatorPaymentJson(payment: Payment) {
  const { checkout_url: _, ...shown } = toPaymentJson(payment);
  return {
    ...shown,
    session_id: payment.session,
    provider: payment.provider,
    provider_ref: payment.providerRef,
    flag: payment.flag,
    flagged_at: payment.flaggedAt,
    flag_resolved_at: payment.flagResolvedAt,
    flag_resolved_by: payment.flagResolvedBy,
    flag_note: payment.flagNote,
  };
}
