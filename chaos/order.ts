/** `createOrder` stores a payment of NewebPay as a worker does, without a checkout. */
import type { SessionRef } from "@turnstream/server";
import type { NewPayment, Store } from "@turnstream/server/ports";

/** @param order the id is the order number unless it is given */
export async function createOrder(
  { payments }: Pick<Store, "payments">,
  ref: SessionRef,
  {
    orderNo,
    ...order
  }: Pick<NewPayment, "orderNo" | "description" | "amount" | "currency"> & { id?: string },
): Promise<void> {
  await payments.create(ref, {
    id: orderNo,
    orderNo,
    tokenHash: orderNo,
    provider: "newebpay",
    locale: "en",
    continues: false,
    agent: null,
    mode: null,
    expiresMs: 3_600_000,
    queryAfterMs: 60_000,
    ...order,
  });
}
