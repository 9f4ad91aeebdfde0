/**
 * `readCheckout` and `openCheckout` serve the checkout page, whose visitor has only the payment's token.
 *
 * Invariant: opening moves `pending` to `processing` and commits that before the provider gets the order. So a
 * payment that a provider knows can't be cancelled, and a crash leaves one that is checked. Opening it again continues
 * the same order at the provider. A final payment leads nowhere.
 */
import { paymentsOf } from "./store/payments-of.ts";
import { gatewayUrl, hashCheckoutToken } from "./checkout-link.ts";
import { type CheckoutStep, PaymentError } from "./provider.ts";
import { type Backend, StoreError } from "@turnstream/server/internal";
import type { Payment } from "./store/payments-part.ts";
import { isFinalPayment } from "./store/payment-transitions.ts";
import { applyPayment, type PaymentBackend, requireKnown } from "./apply-payment.ts";
import { settleOverdue } from "./check-payments.ts";
import { findProvider } from "./query-payment.ts";

/** @returns null if no payment has this token */
export function readCheckout({ store }: Pick<Backend, "store">, token: string): Promise<Payment | null> {
  return paymentsOf(store).byToken(hashCheckoutToken(token));
}

/**
 * @returns the next step of the browser; null if the payment is final
 * @throws StoreError NOT_FOUND if no payment has this token
 * @throws PaymentError UNAVAILABLE or REFUSED. The payment is then `processing`, and opening it again is safe.
 */
export async function openCheckout(
  backend: PaymentBackend,
  token: string,
  { signal }: { readonly signal: AbortSignal },
): Promise<{ readonly payment: Payment; readonly step: CheckoutStep | null }> {
  const found = await readCheckout(backend, token);
  if (found === null) throw new StoreError("NOT_FOUND", "payment of the checkout token");
  const payment = await markOpened(backend, found);
  if (isFinalPayment(payment.status)) return { payment, step: null };
  const { orderNo, amount, currency, description, locale, providerRef, expiresAt } = payment;
  const provider = findProvider(backend, payment);
  const { publicUrl } = backend.payments;
  const urls = {
    returnUrl: gatewayUrl(publicUrl, `return/${token}`),
    notifyUrl: gatewayUrl(publicUrl, `notify/${provider.name}`),
  };
  const { step, providerRef: made } = await provider.checkout(
    { orderNo, amount, currency, description, locale, providerRef, expiresAt, ...urls },
    { signal },
  );
  if (made !== null && providerRef === null)
    await paymentsOf(backend.store).setProviderRef(payment, payment.id, made);
  return { payment, step };
}

async function markOpened(backend: PaymentBackend, payment: Payment): Promise<Payment> {
  if (isFinalPayment(payment.status)) return payment;
  if (payment.expiresAt <= backend.env.now()) {
    const settled = await settleOverdue(backend, payment);
    // The provider can't be asked, so the order may be paid already: don't send the user there again.
    if (!isFinalPayment(settled.status))
      throw new PaymentError("UNAVAILABLE", `payment ${payment.id} is past its expiry time`);
    return settled;
  }
  const result = await applyPayment(backend, payment.orderNo, { type: "checkout_opened" });
  return requireKnown(result, payment.id).payment;
}
