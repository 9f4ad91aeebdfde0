/** `createOrder` stores a payment as a worker does, without a checkout. */
import type { SessionRef } from "@turnstream/server";
import type { NewPayment, Payment, Store } from "@turnstream/server/internal";

type Order = Pick<NewPayment, "orderNo" | "description" | "amount" | "currency"> & Partial<NewPayment>;

/** @param order the id is the order number unless it is given */
export async function createOrder(
  { payments }: Pick<Store, "payments">,
  ref: SessionRef,
  order: Order,
): Promise<Payment> {
  const { payment } = await payments.create(ref, {
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
