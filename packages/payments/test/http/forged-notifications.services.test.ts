/**
 * Promise 17 over real HTTP: a notification is authentic and right, or it changes nothing. A real notification of the
 * sandbox is changed byte by byte, and the provider signs wrong amounts, merchants, orders and currencies.
 *
 * A run on a push flips one bit of each byte, and a full run all eight, cuts off each byte, and tries more amounts.
 */
import { payments } from "../../src/payments.ts";
import { paymentsOf } from "../../src/store/payments-of.ts";
import { readAllEvents } from "@turnstream/testkit/backend/read-all-events.ts";
import { postCheckoutForm } from "@turnstream/testkit/payments/post-checkout-form.ts";
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { SEED, isFull } from "@turnstream/conformance/support/cases.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newebPay } from "@turnstream/payments/newebpay";
import type { PaymentProvider } from "../../src/provider.ts";
import { type PaymentSandbox, startPaymentSandbox } from "@turnstream/payments/sandbox";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import { createTestSession } from "../../../server/test/gateway/pending-interactions.ts";
import { requestTestPayment, type TestPayment } from "../../../server/test/gateway/pending-payments.ts";
import { openRealBackend } from "../../../server/test/engine/real-backend.ts";
import { openServer, type TestServer } from "../../../server/test/gateway/test-server.ts";

/** Not signed, and not read by the adapter. */
const IGNORED = "Version=2.0";
const AT_ONCE = 16;
const AMOUNTS = isFull ? 500 : 40;
const AMOUNT = 2400;
const PAID = { TradeNo: "26111600000001", PayTime: "2026-11-16 12:00:00" };

const random = seededRandom(SEED);
/** Authentic notifications that the gateway received while `isRecording`. They were not applied. */
const recorded: Uint8Array[] = [];
let isRecording = false;
let sandbox: PaymentSandbox;
let server: TestServer;
let ref: SessionRef;

beforeAll(async () => {
  sandbox = await startPaymentSandbox();
  const provider = sandbox.provider();
  const recording: PaymentProvider = {
    ...provider,
    readNotification(notification) {
      const report = provider.readNotification(notification);
      if (!isRecording) return report;
      recorded.push(notification.body);
      return null;
    },
  };
  const namesake = newebPay({ ...sandbox.providerOptions, name: "namesake" });
  // The port is known only after the server has started.
  const options = { providers: [recording, namesake] as const, publicUrl: "http://127.0.0.1:9" };
  // A full run sends more of them from one address than a gateway accepts by default.
  const callerLimits = { address: { requestsPerMinute: null } };
  server = await openServer(await openRealBackend(), { features: [payments(options)], callerLimits });
  options.publicUrl = server.url;
  ref = await createTestSession(server.backend, server.actor);
});
afterAll(async () => {
  await server.close();
  const { signals, log, store } = server.backend;
  await Promise.all([signals.close(), log.close(), store.close(), sandbox.close()]);
});

/** A payment whose checkout is open at the provider. */
async function openPayment(change: Parameters<typeof requestTestPayment>[2] = {}): Promise<TestPayment> {
  const payment = await requestTestPayment(server.backend, ref, { continues: true, ...change });
  const opened = await fetch(`${server.url}/api/v1/payments/checkout/${payment.token}`, { method: "POST" });
  const page = await opened.text();
  if ((change.currency ?? "TWD") === "TWD") expect(await postCheckoutForm(page)).toBe(200);
  return payment;
}

async function notify(body: Uint8Array<ArrayBuffer>, provider = "sandbox"): Promise<number> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const url = `${server.url}/api/v1/payments/notify/${provider}`;
  const response = await fetch(url, { method: "POST", headers, body });
  await response.body?.cancel();
  return response.status;
}

/** The body of the notification that the provider sends when the payment is paid, before anything knows of it. */
async function recordPaid({ orderNo }: TestPayment): Promise<Buffer<ArrayBuffer>> {
  isRecording = true;
  await sandbox.pay(orderNo);
  isRecording = false;
  return Buffer.from(recorded.pop() ?? new Uint8Array());
}

/** Everything that an accepted notification would change. */
async function readState({ id }: TestPayment) {
  const { store } = server.backend;
  const payment = await paymentsOf(store).get(ref, id);
  const steps = (await paymentsOf(store).changes(ref, id)).filter(({ outcome }) => outcome === "changed");
  const messages = (await store.queuedMessages.list(ref)).map((message) => message.id);
  const events = (await readAllEvents(server.backend, ref)).length;
  const { status, refundedAmount } = payment ?? {};
  return { status, refundedAmount, steps, messages, events };
}

/** Every changed body: one bit flipped, and in a full run every bit, and the body cut off before the byte. */
function* changedBodies(body: Buffer<ArrayBuffer>): Generator<Buffer<ArrayBuffer>> {
  const ignored = body.indexOf(IGNORED);
  const bits = [0, 1, 2, 3, 4, 5, 6, 7];
  for (let at = 0; at < body.length; at++) {
    if (at >= ignored && at < ignored + IGNORED.length) continue;
    for (const bit of isFull ? bits : [Math.floor(random() * 8)]) {
      const changed = Buffer.from(body);
      changed[at] = (body[at] ?? 0) ^ (1 << bit);
      yield changed;
    }
    if (isFull) yield Buffer.from(body.subarray(0, at));
  }
}

test("S08 a notification with any changed byte changes nothing", { timeout: 600_000 }, async () => {
  const payment = await openPayment();
  const body = await recordPaid(payment);
  expect(body.length).toBeGreaterThan(500);
  const before = await readState(payment);
  expect(before.status).toBe("processing");
  const bodies = [...changedBodies(body)];
  expect(bodies.length).toBeGreaterThanOrEqual((body.length - IGNORED.length) * (isFull ? 9 : 1));
  const waiting = bodies.values();
  const send = async () => {
    // All loops take from the same iterator.
    for (const changed of waiting) expect(await notify(changed), changed.toString("latin1")).toBe(400);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  expect(await readState(payment)).toEqual(before);
  // The unchanged notification is accepted, so the test would notice.
  expect(await notify(body)).toBe(200);
  expect((await readState(payment)).status).toBe("succeeded");
});

test("S08 another amount changes no status, in whatever form it is written", async () => {
  const payment = await openPayment();
  const before = await readState(payment);
  const written = [
    0,
    -1,
    1e21,
    0.5,
    AMOUNT + 0.1,
    `${AMOUNT}.0`,
    ` ${AMOUNT}`,
    `+${AMOUNT}`,
    "0x960",
    "",
    "２４００",
  ];
  const others = Array.from({ length: AMOUNTS }, () => Math.floor(random() * 100_000)).filter(
    (amount) => amount !== AMOUNT,
  );
  const near = [AMOUNT - 1, AMOUNT + 1, AMOUNT / 100, AMOUNT * 100];
  for (const Amt of [...written, ...near, ...others]) {
    const status = await sandbox.sendNotification(payment.orderNo, {
      status: "SUCCESS",
      result: { ...PAID, TradeNo: String(Amt).slice(0, 20) || "0", Amt },
    });
    expect([200, 400], String(Amt)).toContain(status);
  }
  expect(await readState(payment)).toEqual(before);
  expect(await paymentsOf(server.backend.store).get(ref, payment.id)).toMatchObject({ flag: "mismatch" });
  await sandbox.pay(payment.orderNo);
  expect((await readState(payment)).status).toBe("succeeded");
});

test("S08 another merchant, key, order, currency or provider changes no status", async () => {
  const payment = await openPayment();
  const other = await openPayment({ amount: AMOUNT - 1 });
  const dollars = await openPayment({ currency: "USD" });
  const all = [payment, other, dollars];
  const before = await Promise.all(all.map(readState));
  const signed = (result: Record<string, string>, form: Record<string, string> = {}) =>
    sandbox.sendNotification(payment.orderNo, { status: "SUCCESS", result: { ...PAID, ...result }, form });
  // Another merchant: signed, beside the signed content, and both.
  expect(await signed({ MerchantID: "MS000000002" })).toBe(400);
  expect(await signed({}, { MerchantID: "MS000000002" })).toBe(400);
  expect(await signed({ MerchantID: "MS000000002" }, { MerchantID: "MS000000002" })).toBe(400);
  // Another key, with our merchant's id.
  const thief = await startPaymentSandbox({ hashKey: "another-hash-key-32-characters--" });
  const { step } = await thief.provider().checkout(
    {
      orderNo: payment.orderNo,
      amount: AMOUNT,
      currency: "TWD",
      description: "x",
      locale: "en",
      providerRef: null,
      expiresAt: null,
      returnUrl: server.url,
      notifyUrl: `${server.url}/api/v1/payments/notify/sandbox`,
    },
    { signal: new AbortController().signal },
  );
  if (step.type === "form")
    await fetch(step.action, { method: "POST", body: new URLSearchParams(step.fields) });
  await thief.pay(payment.orderNo);
  expect(thief.orders()).toMatchObject([{ status: "paid", notified: [400] }]);
  await thief.close();
  // An order that doesn't exist, one with another amount, and one in another currency.
  for (const orderNo of ["TSUNKNOWN", other.orderNo, dollars.orderNo])
    expect(await signed({ MerchantOrderNo: orderNo })).toBe(200);
  // Another provider, which has the same keys.
  const body = await recordPaid(payment);
  expect(await notify(body, "namesake")).toBe(200);
  expect(await Promise.all(all.map(readState))).toEqual(before);
  const flags = await Promise.all(all.map(({ id }) => paymentsOf(server.backend.store).get(ref, id)));
  expect(flags.map((each) => each?.flag)).toEqual(["mismatch", "mismatch", "mismatch"]);
  expect(await notify(body)).toBe(200);
  expect((await readState(payment)).status).toBe("succeeded");
});
