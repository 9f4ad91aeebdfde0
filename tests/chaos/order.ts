/** `createOrder` stores a payment as a worker does, without a checkout. */
import { type NewPayment, type Payment, paymentsOf } from "@turnstream/payments";
import type { SessionRef } from "@turnstream/server";
import type { Store } from "@turnstream/server/internal";

type Order = Pick<NewPayment, "orderNo" | "description" | "amount" | "currency"> & Partial<NewPayment>;

/** @param order the id is the order number unless it is given */
export async function createOrder(
  store: Pick<Store, "use">,
  ref: SessionRef,
  order: Order,
): Promise<Payment> {
  const { payment } = await paymentsOf(store).create(ref, {
    id: order.orderNo,
    tokenHash: order.orderNo,
    provider: "newebpay",
    locale: "en",
    continues: false,
    agent: null,
    mode: null,
    expiresMs: 3_600_000,
    queryAfterMs: 60_000,
    ...order,
  });
  return payment;
}
