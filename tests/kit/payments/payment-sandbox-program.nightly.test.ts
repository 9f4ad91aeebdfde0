/** Tests the payment sandbox in its own process: its commands, and that other processes can use its options. */
import { newebPay } from "@turnstream/payments/newebpay";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PaymentSandboxProgram } from "./payment-sandbox-program.ts";

const { signal } = new AbortController();
const ORDER = {
  orderNo: "TSPROGRAM",
  description: "Tea",
  amount: 80,
  currency: "TWD",
  locale: "en",
  providerRef: null,
  expiresAt: null,
  returnUrl: "http://127.0.0.1:1/return",
  notifyUrl: "http://127.0.0.1:1/notify",
};

let sandbox: PaymentSandboxProgram;
beforeAll(async () => {
  sandbox = await PaymentSandboxProgram.launch({ behavior: { notify: "never" } });
});
afterAll(() => sandbox.kill());

test("pays, fails, refunds and notifies by command", async () => {
  const provider = newebPay(sandbox.providerOptions);
  expect(provider.name).toBe("sandbox");
  expect(sandbox.providerOptions.url).toBe(sandbox.url);
  const { step } = await provider.checkout(ORDER, { signal });
  if (step.type !== "form") throw new Error("not a form");
  await fetch(step.action, { method: "POST", body: new URLSearchParams(step.fields) });
  await expect(sandbox.refund(ORDER.orderNo)).rejects.toThrow("open");
  await sandbox.pay(ORDER.orderNo);
  expect(await provider.query(ORDER, { signal })).toMatchObject({ status: "succeeded" });
  await sandbox.setBehavior({ notify: "once" });
  // Nothing listens on the notify URL.
  expect(await sandbox.sendNotification(ORDER.orderNo)).toBe(null);
  await sandbox.refund(ORDER.orderNo, 30);
  expect(await provider.query(ORDER, { signal })).toMatchObject({ status: "refunded", paid: { amount: 30 } });
  expect(await sandbox.orders()).toMatchObject([
    { status: "refunded", refundedAmount: 30, notified: [null] },
  ]);
  await expect(sandbox.fail("TSUNKNOWN")).rejects.toThrow("no order TSUNKNOWN");
});
