/**
 * `listPayments`, `readPayment`, `listFlagged` and `resolveFlag` read payments and resolve their flags; `toPaymentJson`
 * and its variant for operators convert a payment for clients.
 *
 * Invariant: users never see flags, the provider's number or its texts. A final payment has no checkout URL.
 */
import { paymentsOf } from "./store/payments-of.ts";
import { type Backend, type SessionRef, StoreError } from "@turnstream/server/internal";
import type { FlagResolution, Payment, PaymentPage } from "./store/payments-part.ts";
import type { PaymentChange } from "./store/payment-transitions.ts";
import { isFinalPayment } from "./store/payment-transitions.ts";

type PaymentReader = Pick<Backend, "store">;

/** Returns the newest payments first. */
export function listPayments(
  { store }: PaymentReader,
  ref: SessionRef,
  page?: PaymentPage,
): Promise<Payment[]> {
  return paymentsOf(store).list(ref, page);
}

/** @throws StoreError NOT_FOUND */
export async function readPayment({ store }: PaymentReader, ref: SessionRef, id: string): Promise<Payment> {
  const payment = await paymentsOf(store).get(ref, id);
  if (payment === null) throw new StoreError("NOT_FOUND", `payment ${id}`);
  return payment;
}

/** Returns payments with an unresolved flag, newest payments first. For operators. */
export function listFlagged(
  { store }: PaymentReader,
  tenant: string,
  page?: PaymentPage,
): Promise<Payment[]> {
  return paymentsOf(store).flagged(tenant, page);
}

/**
 * Returns any payment of the tenant with its changes. For operators.
 * @throws StoreError NOT_FOUND
 */
export async function readPaymentChanges(
  { store }: PaymentReader,
  tenant: string,
  id: string,
): Promise<{ readonly payment: Payment; readonly changes: readonly PaymentChange[] }> {
  const payment = await paymentsOf(store).getInTenant(tenant, id);
  if (payment === null) throw new StoreError("NOT_FOUND", `payment ${id}`);
  return { payment, changes: await paymentsOf(store).changes(payment, id) };
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
