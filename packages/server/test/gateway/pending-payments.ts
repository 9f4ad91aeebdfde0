/** Creates payments of a session without an agent, as a worker commits them. */
import { paymentsOf } from "@turnstream/payments";
import { randomUUID } from "node:crypto";
import {
  checkoutUrl,
  createCheckoutToken,
  createOrderNo,
  hashCheckoutToken,
} from "../../../payments/src/checkout-link.ts";
import type { CommandBackend } from "../../src/session/backend.ts";
import type { NewPayment } from "../../../payments/src/store/payments-part.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { systemEnv } from "../../src/util/env.ts";

export interface TestPayment {
  readonly id: string;
  readonly orderNo: string;
  readonly token: string;
}

export async function requestTestPayment(
  { store }: Pick<CommandBackend, "store">,
  ref: SessionRef,
  change: Partial<NewPayment> = {},
): Promise<TestPayment> {
  const token = createCheckoutToken(systemEnv);
  const orderNo = createOrderNo(systemEnv);
  const id = `pay_${randomUUID()}`;
  const payment: NewPayment = {
    id,
    orderNo,
    tokenHash: hashCheckoutToken(token),
    provider: "sandbox",
    description: "Deposit for 3 beds",
    amount: 2400,
    currency: "TWD",
    locale: "en",
    continues: false,
    agent: null,
    mode: null,
    expiresMs: 3_600_000,
    queryAfterMs: 60_000,
    ...change,
  };
  const { amount, currency, description } = payment;
  const { length: index } = await store.interactions.list(ref);
  await store.transaction(async (tx) => {
    const checkout_url = checkoutUrl("https://chat.example.com", token);
    await tx.interactions.request(ref, {
      id,
      kind: "payment",
      turn: "t1",
      run: "main",
      block: `b${index}`,
      index,
      request: { order_no: orderNo, amount, currency, description, checkout_url },
    });
    await paymentsOf(tx).create(ref, payment);
  });
  return { id, orderNo, token };
}
