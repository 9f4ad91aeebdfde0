/**
 * Reliability 17: passes forged and wrong notifications through the adapters and the rules of payments. None of them
 * changes a payment. The authentic one does, so the test can fail.
 */
import { newebPay } from "@turnstream/payments/newebpay";
import { type PaymentProvider } from "@turnstream/payments";
import { stripe } from "@turnstream/payments/stripe";
import { Stripe } from "stripe";
import { expect, test } from "vitest";
import { type PaymentState, resolvePayment } from "../src/store/payment-transitions.ts";
import { KEYS, NOW, opensslEncrypt, opensslSign, ORDER } from "./newebpay-keys.ts";

type HeaderList = readonly [string, string][];

/** Returns what the notification does to the payment of `ORDER` while it is processing. */
function apply(provider: PaymentProvider, body: string, headers: HeaderList = []): string {
  const payment: PaymentState = {
    status: "processing",
    provider: provider.name,
    amount: ORDER.amount,
    currency: ORDER.currency,
    refundedAmount: 0,
    flag: null,
    isOverdue: false,
  };
  try {
    const report = provider.readNotification({
      headers: new Map(headers),
      body: Buffer.from(body, "latin1"),
    });
    if (report === null) return "ignored";
    if (report.orderNo !== ORDER.orderNo) return "other order";
    const { status: type, paid, providerRef, event, reason } = report;
    const input = { type, provider: provider.name, paid, providerRef, event, reason, evidenceHash: null };
    return resolvePayment(payment, input).outcome;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** Every byte of the text changed to another one, in two ways, or removed. */
function* changeEachByte(text: string): Generator<[at: number, changed: string]> {
  for (let at = 0; at < text.length; at++) {
    for (const byte of [text.charCodeAt(at) ^ 0x01, text.charCodeAt(at) ^ 0x80])
      yield [at, text.slice(0, at) + String.fromCharCode(byte) + text.slice(at + 1)];
    yield [at, text.slice(0, at) + text.slice(at + 1)];
  }
}

test("S08: NewebPay: no forged or wrong notification changes a payment", () => {
  const provider = newebPay(KEYS);
  const result = {
    MerchantID: KEYS.merchantId,
    Amt: ORDER.amount,
    TradeNo: "26111620000000001",
    MerchantOrderNo: ORDER.orderNo,
    PayTime: "2026-11-16 20:00:01",
  };
  const sign = (changes: object = {}, form: object = {}): string => {
    const content = { Status: "SUCCESS", Message: "", Result: { ...result, ...changes } };
    const TradeInfo = opensslEncrypt(JSON.stringify(content));
    const fields = {
      Status: "SUCCESS",
      MerchantID: KEYS.merchantId,
      TradeInfo,
      TradeSha: opensslSign(TradeInfo),
    };
    return new URLSearchParams({ ...fields, ...form }).toString();
  };
  const body = sign();
  expect(apply(provider, body)).toBe("applied");
  let forged = 0;
  for (const [at, changed] of changeEachByte(body)) {
    expect(apply(provider, changed), `byte ${at}`).toMatch(/^(NOT_AUTHENTIC|MALFORMED)$/);
    forged += 1;
  }
  expect(forged).toBe(3 * body.length);
  expect(apply(provider, sign({ Amt: 1_199 }))).toBe("mismatch");
  expect(apply(provider, sign({ Amt: 120_000 }))).toBe("mismatch");
  expect(apply(provider, sign({ MerchantOrderNo: `${ORDER.orderNo}X` }))).toBe("other order");
  expect(apply(provider, sign({ MerchantID: "MS2" }))).toBe("NOT_AUTHENTIC");
  expect(apply(provider, sign({}, { MerchantID: "MS2" }))).toBe("NOT_AUTHENTIC");
  expect(apply(provider, sign({}, { Status: "MPG03009" }))).toBe("NOT_AUTHENTIC");
});

test("S08: Stripe: no forged or wrong webhook changes a payment", () => {
  const client = new Stripe("sk_test_1");
  const secret = "whsec_test";
  const provider = stripe({ client, webhookSecret: secret, now: () => NOW });
  const session = {
    id: "cs_1",
    object: "checkout.session",
    client_reference_id: ORDER.orderNo,
    metadata: { turnstream_order_no: ORDER.orderNo },
    amount_total: ORDER.amount * 100,
    currency: "twd",
    status: "complete",
    payment_status: "paid",
  };
  const write = (changes: object = {}, type = "checkout.session.completed"): string =>
    JSON.stringify({ id: "evt_1", object: "event", type, data: { object: { ...session, ...changes } } });
  const header = (payload: string, age = 0): string =>
    client.webhooks.generateTestHeaderString({ payload, secret, timestamp: NOW / 1_000 - age });
  const send = (body: string, signature = header(body)): string =>
    apply(provider, body, [["stripe-signature", signature]]);

  const body = write();
  const signature = header(body);
  expect(send(body)).toBe("applied");
  for (const [at, changed] of changeEachByte(body))
    expect(send(changed, signature), `byte ${at} of the body`).toBe("NOT_AUTHENTIC");
  for (const [at, changed] of changeEachByte(signature))
    expect(send(body, changed), `byte ${at} of the signature`).toBe("NOT_AUTHENTIC");
  expect(send(body, header(body, 301))).toBe("NOT_AUTHENTIC");
  expect(send(write({ amount_total: ORDER.amount }))).toBe("mismatch");
  expect(send(write({ currency: "usd" }))).toBe("mismatch");
  expect(send(write({ currency: "jpy", amount_total: ORDER.amount }))).toBe("mismatch");
  const other = { client_reference_id: "TSX", metadata: { turnstream_order_no: "TSX" } };
  expect(send(write(other))).toBe("other order");
  expect(send(write({ client_reference_id: "TSX" }))).toBe("ignored");
  expect(send(write({ payment_status: "unpaid" }))).toBe("unchanged");
  expect(send(write({}, "checkout.session.created"))).toBe("ignored");
});
