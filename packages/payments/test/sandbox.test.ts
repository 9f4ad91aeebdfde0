/** Tests the payment sandbox and the adapter for NewebPay together, over HTTP: page, notifications and queries. */
import { newebPay } from "@turnstream/payments/newebpay";
import { type PaymentProvider, type ProviderReport } from "@turnstream/payments";
import { type PaymentSandbox, startPaymentSandbox } from "@turnstream/payments/sandbox";
import { until } from "@turnstream/testkit/util/until.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LocalServer, startLocalServer } from "./local-server.ts";
import { ORDER } from "./newebpay-keys.ts";

const { signal } = new AbortController();

/** The shop: it reads each notification, and answers with `status`. */
interface Shop {
  readonly notifyUrl: string;
  readonly reports: (ProviderReport | string)[];
  status: number;
  readonly server: LocalServer;
}

let sandbox: PaymentSandbox;
let provider: PaymentProvider;
let shop: Shop;

beforeEach(async () => {
  sandbox = await startPaymentSandbox();
  provider = sandbox.provider();
  shop = await startShop();
});

afterEach(async () => {
  await sandbox.close();
  shop.server.close();
});

async function startShop(): Promise<Shop> {
  const reports: Shop["reports"] = [];
  const server = await startLocalServer((body, response) => {
    try {
      const report = provider.readNotification({ headers: new Map(), body });
      if (report !== null) reports.push(report);
    } catch (error) {
      reports.push((error as { code: string }).code);
    }
    response.writeHead(shop.status).end("OK");
  });
  return { notifyUrl: `${server.url}/notify`, reports, status: 200, server };
}

/** Opens the checkout as a browser does. */
async function open(changes: Partial<typeof ORDER> = {}): Promise<Response> {
  const order = { ...ORDER, notifyUrl: shop.notifyUrl, ...changes };
  const { step } = await provider.checkout(order, { signal });
  if (step.type !== "form") throw new Error("not a form");
  return fetch(step.action, { method: "POST", body: new URLSearchParams(step.fields) });
}

async function press(action: string, orderNo = ORDER.orderNo): Promise<Response> {
  const body = new URLSearchParams({ action });
  return fetch(`${sandbox.url}/sandbox/orders/${orderNo}`, { method: "POST", body, redirect: "manual" });
}

const statuses = (): string[] =>
  shop.reports.map((report) => (typeof report === "string" ? report : report.status));
const query = (changes: Partial<typeof ORDER> = {}): Promise<ProviderReport | null> =>
  provider.query({ ...ORDER, ...changes }, { signal });

describe("the page", () => {
  test("S08: shows the order, and a payment is notified and answered alike", async () => {
    const page = await open();
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const html = await page.text();
    expect(html).toContain('<html lang="zh-TW">');
    for (const text of ["Consultation fee", "$1,200", ORDER.orderNo, "付款成功", "付款失敗", "放棄付款"])
      expect(html).toContain(text);
    expect(html).not.toMatch(/\b(?:src|href)=/);

    expect(await query()).toBe(null);
    const result = await (await press("pay")).text();
    expect(result).toContain(`action="${ORDER.returnUrl}"`);
    expect(result).toContain('name="TradeSha"');
    await until("the notification", () => shop.reports.length === 1);
    expect(shop.reports[0]).toMatchObject({ status: "succeeded", paid: { amount: 1_200, currency: "TWD" } });
    expect(await query()).toEqual(shop.reports[0]);
    expect(sandbox.orders()).toMatchObject([{ orderNo: ORDER.orderNo, status: "paid" }]);
  });

  test("is in English for other languages, and escapes what the shop sends", async () => {
    const html = await (await open({ locale: "vi", description: "Tea <b>2</b>" })).text();
    expect(html).toContain('<html lang="en">');
    expect(html).toContain("Abandon and return to the shop");
    expect(html).not.toContain("<b>");
  });

  test("S08: the buttons let the payment fail, or return without a result", async () => {
    await open();
    const back = await press("abandon");
    expect([back.status, back.headers.get("location")]).toEqual([303, ORDER.returnUrl]);
    expect(await query()).toBe(null);
    expect(await (await press("fail")).text()).toContain("付款失敗");
    await until("the notification", () => shop.reports.length === 1);
    expect(shop.reports[0]).toMatchObject({ status: "failed", paid: null });
    expect(await query()).toMatchObject({ status: "failed", reason: "TradeStatus 2" });
  });

  test("opened again continues the same order, until it has a result", async () => {
    await open();
    expect((await open()).status).toBe(200);
    expect(sandbox.orders().length).toBe(1);
    expect((await open({ amount: 1 })).status).toBe(400);
    await sandbox.pay(ORDER.orderNo);
    await press("fail");
    expect(sandbox.orders()).toMatchObject([{ status: "paid" }]);
    const again = await open();
    expect([again.status, await again.text()]).toEqual([400, expect.stringContaining("MPG03008")]);
  });

  test("refuses forms and queries with another signature or merchant", async () => {
    const { url } = sandbox;
    for (const changes of [{ hashKey: "x".repeat(32) }, { hashIv: "x".repeat(16) }, { merchantId: "MS2" }]) {
      const other = newebPay({ ...sandbox.providerOptions, ...changes });
      const { step } = await other.checkout(ORDER, { signal });
      const fields = step.type === "form" ? step.fields : {};
      const page = await fetch(`${url}/MPG/mpg_gateway`, {
        method: "POST",
        body: new URLSearchParams(fields),
      });
      expect(page.status).toBe(400);
      await expect(other.query(ORDER, { signal })).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringContaining("TRA10054"),
      });
    }
    expect(sandbox.orders()).toEqual([]);
    expect((await fetch(`${url}/MPG/mpg_gateway`)).status).toBe(404);
    expect((await press("pay", "NONE")).status).toBe(404);
    const body = "x".repeat(70_000);
    expect((await fetch(`${url}/API/QueryTradeInfo`, { method: "POST", body })).status).toBe(404);
  });
});

describe("notifications", () => {
  test("S08: once, twice or never", async () => {
    await open();
    await sandbox.pay(ORDER.orderNo);
    expect(statuses()).toEqual(["succeeded"]);
    await sandbox.pay(ORDER.orderNo);
    expect(statuses()).toEqual(["succeeded"]);

    sandbox.behavior = { notify: "twice" };
    await open({ orderNo: "TSTWICE" });
    await sandbox.fail("TSTWICE");
    expect(statuses()).toEqual(["succeeded", "failed", "failed"]);
    const [, first, second] = shop.reports;
    expect(first).toEqual(second);

    sandbox.behavior = { notify: "never" };
    await open({ orderNo: "TSNEVER" });
    await sandbox.pay("TSNEVER");
    expect(sandbox.orders().map(({ notified }) => notified)).toEqual([[200], [200, 200], []]);
    expect(await query({ orderNo: "TSNEVER" })).toMatchObject({ status: "succeeded" });
  });

  test("S08: late, also after a change of the behavior", async () => {
    sandbox.behavior = { notify: "late", delayMs: 50 };
    await open();
    await sandbox.pay(ORDER.orderNo);
    expect(statuses()).toEqual([]);
    sandbox.behavior = { notify: "never" };
    await until("the late notification", () => shop.reports.length === 1);
    expect(statuses()).toEqual(["succeeded"]);
  });

  test("S08: reordered, the newest first", async () => {
    sandbox.behavior = { notify: "reordered", delayMs: 50 };
    const numbers = ["TS1", "TS2", "TS3"];
    for (const orderNo of numbers) await open({ orderNo });
    await Promise.all(numbers.map((orderNo) => sandbox.pay(orderNo)));
    await until("the notifications", () => shop.reports.length === 3);
    const sent = shop.reports.map((report) => (typeof report === "string" ? report : report.orderNo));
    expect(sent).toEqual(["TS3", "TS2", "TS1"]);
  });

  test("records a receiver that refuses or is down", async () => {
    shop.status = 503;
    await open();
    await sandbox.pay(ORDER.orderNo);
    shop.server.close();
    expect(await sandbox.sendNotification(ORDER.orderNo)).toBe(null);
    expect(sandbox.orders()[0]?.notified).toEqual([503, null]);
  });

  test("S08: forged ones are refused, and signed ones with other content are reported as they are", async () => {
    await open();
    await sandbox.pay(ORDER.orderNo);
    const send = (overrides: Parameters<PaymentSandbox["sendNotification"]>[1]) =>
      sandbox.sendNotification(ORDER.orderNo, overrides);
    await send({ form: { TradeSha: "0".repeat(64) } });
    await send({ form: { Status: "MPG03009" } });
    await send({ form: { MerchantID: "MS2" } });
    await send({ result: { MerchantID: "MS2" } });
    await send({ result: { Amt: 1 } });
    await send({ status: "MPG03009" });
    expect(statuses()).toEqual([
      "succeeded",
      ...Array.from({ length: 4 }, () => "NOT_AUTHENTIC"),
      "succeeded",
      "failed",
    ]);
    expect(shop.reports[5]).toMatchObject({ paid: { amount: 1 } });
    await expect(sandbox.pay("TSUNKNOWN")).rejects.toThrow("no order TSUNKNOWN");
  });

  test("close drops the ones that wait", async () => {
    sandbox.behavior = { notify: "late", delayMs: 20 };
    await open();
    await sandbox.pay(ORDER.orderNo);
    await sandbox.close();
    const other = await startPaymentSandbox();
    // The other sandbox's notification comes later than the dropped one would have.
    sandbox = other;
    provider = other.provider();
    other.behavior = { notify: "late", delayMs: 60 };
    await open({ orderNo: "TSOTHER" });
    await other.pay("TSOTHER");
    await until("the notification", () => shop.reports.length > 0);
    expect(shop.reports).toMatchObject([{ orderNo: "TSOTHER" }]);
  });
});

describe("queries", () => {
  test("S08: report refunds, in parts and in full", async () => {
    await open();
    expect(() => sandbox.refund(ORDER.orderNo)).toThrow("open");
    await sandbox.pay(ORDER.orderNo);
    sandbox.refund(ORDER.orderNo, 200);
    const part = await query();
    expect(part).toMatchObject({ status: "refunded", paid: { amount: 200, currency: "TWD" } });
    expect(() => sandbox.refund(ORDER.orderNo)).toThrow("1200");
    sandbox.refund(ORDER.orderNo, 1_000);
    const full = await query();
    expect(full).toMatchObject({ status: "refunded", paid: { amount: 1_200, currency: "TWD" } });
    expect(full?.event).not.toBe(part?.event);
    // NewebPay sends no notification about refunds.
    expect(statuses()).toEqual(["succeeded"]);
  });

  test("an order that NewebPay doesn't know has no result, also with another amount", async () => {
    expect(await query()).toBe(null);
    await open();
    await sandbox.pay(ORDER.orderNo);
    expect(await query({ amount: 1_199 })).toBe(null);
  });

  test("end with UNAVAILABLE if nothing answers, or if the caller stops them", async () => {
    const { port } = new URL(sandbox.url);
    await sandbox.close();
    await expect(query()).rejects.toMatchObject({ name: "PaymentError", code: "UNAVAILABLE" });
    sandbox = await startPaymentSandbox({ port: Number(port) });
    await expect(provider.query(ORDER, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    expect(await query()).toBe(null);
  });
});
