/** Tests the adapter for Stripe with the official SDK, against a local server that plays Stripe's API. */
import { type CheckoutOrder, type PaymentErrorCode, type ProviderReport } from "@turnstream/payments";
import { stripe } from "@turnstream/payments/stripe";
import { type StripeServer, startStripeServer } from "@turnstream/testkit/payments/stripe-server.ts";
import { Stripe } from "stripe";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NOW, ORDER } from "./newebpay-keys.ts";

const { signal } = new AbortController();
const SECRET = "whsec_test";
const HOUR = 3_600_000;

let now = NOW;
let server: StripeServer;
let client: Stripe;
let provider: ReturnType<typeof stripe>;

beforeEach(async () => {
  now = NOW;
  server = await startStripeServer(() => now);
  const { host, port } = server;
  client = new Stripe("sk_test_1", { host, port, protocol: "http", maxNetworkRetries: 0, telemetry: false });
  provider = stripe({ client, webhookSecret: SECRET, now: () => now });
});

afterEach(() => server.close());

const checkout = (changes: Partial<CheckoutOrder> = {}) =>
  provider.checkout({ ...ORDER, ...changes }, { signal });
const query = (providerRef: string | null) => provider.query({ ...ORDER, providerRef }, { signal });

async function open(changes: Partial<CheckoutOrder> = {}): Promise<string> {
  const { providerRef } = await checkout(changes);
  return providerRef ?? "";
}

/** Signs with the SDK's helper for tests, and reads it with the adapter. */
function read(
  payload: string,
  options: { secret?: string; age?: number; body?: string } = {},
): ProviderReport | null {
  const { secret = SECRET, age = 0, body = payload } = options;
  const timestamp = Math.floor(now / 1_000) - age;
  const signature = client.webhooks.generateTestHeaderString({ payload, secret, timestamp });
  return readSigned(body, signature);
}

const readSigned = (body: string | Uint8Array, signature?: string): ProviderReport | null =>
  provider.readNotification({
    headers: new Map(signature === undefined ? [] : [["stripe-signature", signature]]),
    body: Buffer.from(body),
  });

const flip = (text: string, at: number): string =>
  text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);

function codeOf(run: () => unknown): PaymentErrorCode | "accepted" {
  try {
    run();
    return "accepted";
  } catch (error) {
    return (error as { code: PaymentErrorCode }).code;
  }
}

describe("checkout", () => {
  test("S08: creates a Checkout Session of the order and redirects to it", async () => {
    expect(await checkout()).toEqual({
      step: { type: "redirect", url: "https://checkout.stripe.com/c/pay/cs_test_1" },
      providerRef: "cs_test_1",
    });
    expect(server.requests).toMatchObject([{ method: "POST", idempotencyKey: ORDER.orderNo }]);
    expect(server.requests[0]?.fields).toEqual({
      mode: "payment",
      client_reference_id: ORDER.orderNo,
      "metadata[turnstream_order_no]": ORDER.orderNo,
      "payment_intent_data[metadata][turnstream_order_no]": ORDER.orderNo,
      "line_items[0][quantity]": "1",
      "line_items[0][price_data][currency]": "twd",
      "line_items[0][price_data][unit_amount]": "120000",
      "line_items[0][price_data][product_data][name]": "Consultation fee",
      "adaptive_pricing[enabled]": "false",
      locale: "zh-TW",
      success_url: ORDER.returnUrl,
      cancel_url: ORDER.returnUrl,
      expires_at: String((NOW + HOUR) / 1_000),
    });
    expect(provider.formOrigin).toBe(null);
  });

  test("S08: opened again continues the same session, with or without its id", async () => {
    const first = await checkout();
    expect(await checkout({ providerRef: first.providerRef })).toEqual(first);
    expect(await checkout()).toEqual(first);
    expect(server.sessions.size).toBe(1);
  });

  test("S08: continues the session even if the expiry can't be sent any more, and the first answer was lost", async () => {
    // The SDK itself retries once after a lost connection.
    server.enqueue({ isProcessed: true }, { isProcessed: true });
    await expect(checkout()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(server.sessions.size).toBe(1);
    // Less than 30 minutes are left, so a new session would get another expiry.
    now += 40 * 60_000;
    expect(await open()).toBe("cs_test_1");
    expect(server.sessions.size).toBe(1);
  });

  test.each([
    ["with the order, if Stripe accepts that", HOUR, HOUR],
    ["half an hour after the order, if that is too soon", 20 * 60_000, 51 * 60_000],
    ["half an hour after an order that ends now", 0, 31 * 60_000],
    ["after Stripe's 24 hours, if the order lives longer", 48 * HOUR, 24 * HOUR],
    ["after Stripe's 24 hours, if the order does not expire", null, 24 * HOUR],
  ])("the session expires %s", async (_, expiresIn, expected) => {
    await open({ expiresAt: expiresIn === null ? null : NOW + expiresIn });
    expect(server.sessions.get("cs_test_1")?.expires_at).toBe((NOW + expected) / 1_000);
  });

  test("a complete session leads to the return page, and an expired one is refused", async () => {
    const providerRef = await open();
    server.change(providerRef, { status: "complete", payment_status: "paid" });
    expect((await checkout({ providerRef })).step).toEqual({ type: "redirect", url: ORDER.returnUrl });
    server.change(providerRef, { status: "expired", payment_status: "unpaid" });
    await expect(checkout({ providerRef })).rejects.toMatchObject({ code: "REFUSED" });
  });

  test.each([
    ["TWD", 1_200, 120_000],
    ["USD", 1_250, 1_250],
    ["JPY", 500, 500],
    ["VND", 83_000, 83_000],
    ["ISK", 5, 500],
    ["UGX", 5, 500],
    ["HUF", 1_045, 1_045],
    ["MGA", 500, 5],
    ["KWD", 5_120, 5_120],
  ])("%s: %d of our units are %d of Stripe's, and back", async (currency, amount, units) => {
    expect(provider.checkMoney({ amount, currency })).toBe(null);
    const id = await open({ amount, currency });
    expect(server.sessions.get(id)).toMatchObject({ amount_total: units, currency: currency.toLowerCase() });
    server.change(id, { status: "complete", payment_status: "paid" });
    expect((await query(id))?.paid).toEqual({ amount, currency });
  });

  test("refuses sums that Stripe can't charge", async () => {
    for (const money of [
      { amount: 5_124, currency: "KWD" },
      { amount: 501, currency: "MGA" },
      { amount: 0, currency: "USD" },
      { amount: -1, currency: "USD" },
      { amount: 1.5, currency: "TWD" },
      { amount: 2 ** 53, currency: "USD" },
      { amount: 100, currency: "usd" },
      { amount: 100, currency: "__proto__" },
    ]) {
      expect(provider.checkMoney(money)).toMatch(/Stripe can't|three capital letters/);
      await expect(checkout(money)).rejects.toMatchObject({ code: "REFUSED" });
    }
    expect(server.requests).toEqual([]);
  });

  test("distinguishes a refusal from an outage", async () => {
    const failWith = (status: number, type: string, code?: string) => {
      server.enqueue({ status, error: { type, message: "no", ...(code !== undefined && { code }) } });
      return checkout().catch((error: { code: string }) => error.code);
    };
    expect(await failWith(400, "invalid_request_error")).toBe("REFUSED");
    expect(await failWith(409, "invalid_request_error", "idempotency_key_in_use")).toBe("UNAVAILABLE");
    expect(await failWith(401, "invalid_request_error")).toBe("UNAVAILABLE");
    expect(await failWith(429, "invalid_request_error")).toBe("UNAVAILABLE");
    expect(await failWith(500, "api_error")).toBe("UNAVAILABLE");
    server.enqueue({}, {});
    await expect(checkout()).rejects.toMatchObject({ name: "PaymentError", code: "UNAVAILABLE" });
    await expect(provider.checkout(ORDER, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    expect(server.sessions.size).toBe(0);
    // Another description for the same order number is another order.
    await open();
    await expect(checkout({ description: "Other" })).rejects.toMatchObject({ code: "REFUSED" });
    expect(server.sessions.size).toBe(1);
  });

  test("refuses invalid options", () => {
    expect(() => stripe({ client, webhookSecret: "" })).toThrow(TypeError);
    expect(() => stripe({ client, webhookSecret: SECRET, name: "a/b" })).toThrow(TypeError);
  });
});

describe("webhook", () => {
  test("S08: a completed session that is paid is reported as succeeded, like a query does", async () => {
    const id = await open();
    server.change(id, { status: "complete", payment_status: "paid" });
    const report = read(server.event("checkout.session.completed", id));
    expect(report).toEqual({
      orderNo: ORDER.orderNo,
      status: "succeeded",
      paid: { amount: 1_200, currency: "TWD" },
      providerRef: id,
      event: `${id}:succeeded:1200:TWD`,
      reason: null,
    });
    expect(await query(id)).toEqual(report);
  });

  test("S08: a delayed way to pay is processing, then succeeded or failed", async () => {
    const id = await open();
    server.change(id, { status: "complete", intentStatus: "processing" });
    expect(read(server.event("checkout.session.completed", id))).toMatchObject({
      status: "processing",
      paid: null,
    });
    expect(await query(id)).toMatchObject({ status: "processing" });

    server.change(id, { intentStatus: "requires_payment_method" });
    const failed = read(server.event("checkout.session.async_payment_failed", id));
    expect(failed).toMatchObject({ status: "failed", paid: null });
    expect(await query(id)).toEqual(failed);

    server.change(id, { payment_status: "paid", intentStatus: "succeeded" });
    expect(read(server.event("checkout.session.async_payment_succeeded", id))).toMatchObject({
      status: "succeeded",
    });
  });

  test("S08: an expired session is reported as failed", async () => {
    const id = await open();
    expect(await query(id)).toBe(null);
    server.change(id, { status: "expired" });
    const report = read(server.event("checkout.session.expired", id));
    expect(report).toMatchObject({ status: "failed", paid: null, reason: "Checkout Session expired" });
    expect(await query(id)).toEqual(report);
  });

  test("S08: a refund is found by the metadata of its payment", async () => {
    const id = await open();
    server.change(id, { status: "complete", payment_status: "paid", refunded: 20_050 });
    const part = read(server.event("charge.refunded", id));
    expect(part).toMatchObject({
      orderNo: ORDER.orderNo,
      status: "refunded",
      paid: { amount: 200, currency: "TWD" },
    });
    expect(await query(id)).toMatchObject({ event: part?.event, paid: part?.paid });
    server.change(id, { refunded: 120_000 });
    const full = read(server.event("charge.refunded", id));
    expect(full?.paid).toEqual({ amount: 1_200, currency: "TWD" });
    expect(full?.event).not.toBe(part?.event);
  });

  test("S08: another amount or currency is reported as it is, so that it can't be mistaken for ours", async () => {
    const id = await open();
    server.change(id, { status: "complete", payment_status: "paid", amount_total: 100 });
    expect(read(server.event("checkout.session.completed", id))?.paid).toEqual({
      amount: 1,
      currency: "TWD",
    });
    server.change(id, { amount_total: 120_000, currency: "usd" });
    expect(read(server.event("checkout.session.completed", id))?.paid).toEqual({
      amount: 120_000,
      currency: "USD",
    });
    server.change(id, { payment_status: "no_payment_required", amount_total: 0, currency: "twd" });
    expect(read(server.event("checkout.session.completed", id))?.paid).toEqual({
      amount: 0,
      currency: "TWD",
    });
    server.change(id, { payment_status: "paid", amount_total: 120_001 });
    expect(codeOf(() => read(server.event("checkout.session.completed", id)))).toBe("MALFORMED");
  });

  test("events about anything else are ignored", async () => {
    const id = await open();
    expect(read(server.event("customer.created", id))).toBe(null);
    server.change(id, { client_reference_id: "other" });
    expect(read(server.event("checkout.session.completed", id))).toBe(null);
    const foreign = { id: "cs_2", object: "checkout.session", metadata: null, client_reference_id: "X" };
    const event = {
      id: "evt_1",
      object: "event",
      type: "checkout.session.completed",
      data: { object: foreign },
    };
    expect(read(JSON.stringify(event))).toBe(null);
    expect(codeOf(() => read("not JSON"))).toBe("MALFORMED");
  });

  test("S08: a webhook without a valid signature of the last 5 minutes is not authentic", async () => {
    const id = await open();
    server.change(id, { status: "complete", payment_status: "paid" });
    const payload = server.event("checkout.session.completed", id);
    expect(read(payload, { age: 299 })).toMatchObject({ status: "succeeded" });
    expect(codeOf(() => read(payload, { age: 301 }))).toBe("NOT_AUTHENTIC");
    expect(codeOf(() => read(payload, { secret: "whsec_other" }))).toBe("NOT_AUTHENTIC");
    expect(codeOf(() => read(payload, { body: payload.replace("120000", "999999") }))).toBe("NOT_AUTHENTIC");
    for (const signature of [undefined, "", "t=1", "t=1,v1=00", "v1=00"])
      expect(codeOf(() => readSigned(payload, signature))).toBe("NOT_AUTHENTIC");
  });

  test("S08: every byte of body and signature that is changed makes it not authentic", async () => {
    const id = await open();
    server.change(id, { status: "complete", payment_status: "paid" });
    const payload = server.event("checkout.session.completed", id);
    const timestamp = Math.floor(now / 1_000);
    const signature = client.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp });
    expect(codeOf(() => readSigned(payload, signature))).toBe("accepted");
    for (let at = 0; at < payload.length; at++)
      expect(codeOf(() => readSigned(flip(payload, at), signature))).toBe("NOT_AUTHENTIC");
    for (let at = 0; at < signature.length; at++)
      expect(codeOf(() => readSigned(payload, flip(signature, at)))).toBe("NOT_AUTHENTIC");
  });

  test("a webhook of more than 1 MiB is malformed, and errors quote nothing", () => {
    expect(codeOf(() => readSigned("x".repeat(1_048_577), ""))).toBe("MALFORMED");
    expect(() => readSigned('{"secret":1}', "t=1,v1=abc")).not.toThrow(/secret|abc/);
  });
});

describe("query", () => {
  test("an order without a session, or with an unknown one, has no result", async () => {
    expect(await query(null)).toBe(null);
    expect(await query("cs_unknown")).toBe(null);
  });

  test("S08: a session of another order is not authentic", async () => {
    const id = await open();
    await expect(
      provider.query({ ...ORDER, orderNo: "TSOTHER", providerRef: id }, { signal }),
    ).rejects.toMatchObject({
      code: "NOT_AUTHENTIC",
    });
  });

  test("an outage is unavailable", async () => {
    const id = await open();
    server.enqueue({ status: 500 });
    await expect(query(id)).rejects.toMatchObject({ name: "PaymentError", code: "UNAVAILABLE" });
    server.enqueue({}, {});
    await expect(query(id)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});
