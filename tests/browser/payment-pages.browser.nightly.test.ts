/**
 * Tests the checkout page and the return page in Chromium, with the payment sandbox as the provider. Every error in the
 * console fails the test, so the content security policy of a page allows all that the page does.
 */
import { payments, paymentsOf } from "@turnstream/payments";
import { startPaymentSandbox, type PaymentSandbox } from "@turnstream/payments/sandbox";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestSession } from "../../packages/server/test/gateway/pending-interactions.ts";
import { requestTestPayment, type TestPayment } from "../../packages/server/test/gateway/pending-payments.ts";
import { openServer, type TestServer } from "../../packages/server/test/gateway/test-server.ts";
import { openRealBackend } from "../../packages/server/test/engine/real-backend.ts";
import { openWatchedPage } from "./open-watched-page.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";

let browser: Browser;
let sandbox: PaymentSandbox;
let server: TestServer;
let backend: Awaited<ReturnType<typeof openRealBackend>>;

beforeAll(async () => {
  browser = await openBrowser();
});
beforeEach(async () => {
  sandbox = await startPaymentSandbox();
  const options = { providers: [sandbox.provider()] as const, publicUrl: "http://127.0.0.1:9" };
  backend = await openRealBackend();
  server = await openServer(backend, { features: [payments(options)] });
  options.publicUrl = server.url;
});
afterEach(async () => {
  await server.close();
  await backend.close();
  await sandbox.close();
});
afterAll(async () => await closeBrowser(browser));

async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  return openWatchedPage(browser, { viewport: { width: 400, height: 700 }, ...options });
}

async function addPayment(locale = "en"): Promise<TestPayment & { readonly url: string }> {
  const ref = await createTestSession(server.backend, server.actor);
  const payment = await requestTestPayment(server.backend, ref, { locale });
  return { ...payment, url: `${server.url}/api/v1/payments/checkout/${payment.token}` };
}

async function statusOf({ orderNo }: TestPayment): Promise<string | undefined> {
  return (await paymentsOf(server.backend.store).byOrderNo(orderNo))?.status;
}

test("S08 the checkout opens by itself, the user pays at the provider, and the return page shows it", async () => {
  const payment = await addPayment();
  const page = await openPage();
  await page.goto(payment.url);
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByRole("heading", { name: "Payment received" }).waitFor();
  expect(new URL(page.url()).origin).toBe(server.url);
  expect(await statusOf(payment)).toBe("succeeded");
  // The link still works, and leads nowhere.
  await page.goto(payment.url);
  await page.getByRole("heading", { name: "Payment received" }).waitFor();
  expect(await page.locator("form").count()).toBe(0);
});

test("S08 a user who abandons the checkout continues the same order, and the return page follows it live", async () => {
  const payment = await addPayment("zh-TW");
  const page = await openPage({ colorScheme: "dark" });
  await page.goto(payment.url);
  await page.getByRole("button", { name: "放棄付款，返回商店" }).click();
  await page.getByRole("heading", { name: "等待確認中" }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-TW");
  await page.getByRole("link", { name: "前往付款" }).click();
  await page.getByRole("button", { name: "放棄付款，返回商店" }).click();
  await page.getByRole("heading", { name: "等待確認中" }).waitFor();
  expect(sandbox.orders()).toHaveLength(1);
  // The payment fails in another window.
  await sandbox.fail(payment.orderNo);
  await page.getByRole("heading", { name: "付款失敗" }).waitFor();
});

test("S08 the pages work without scripts, and wait for the user", async () => {
  const payment = await addPayment();
  const page = await openPage({ javaScriptEnabled: false });
  await page.goto(payment.url);
  await page.getByRole("button", { name: "Continue to payment" }).waitFor();
  expect(await statusOf(payment)).toBe("pending");
  await page.getByRole("button", { name: "Continue to payment" }).click();
  await page.getByRole("heading", { name: "Opening the payment page" }).waitFor();
  expect(await statusOf(payment)).toBe("processing");
  await page.getByRole("button", { name: "Continue to payment" }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).waitFor();
});

test("S08 a page opens nothing until the user sees it, and nothing by itself after the back button", async () => {
  const payment = await addPayment();
  const page = await openPage();
  // The first page is hidden at first.
  await page.addInitScript(() => {
    if (sessionStorage.getItem("shown") !== null) return;
    let state: DocumentVisibilityState = "hidden";
    Object.defineProperty(document, "visibilityState", { get: () => state });
    addEventListener("show-page", () => {
      sessionStorage.setItem("shown", "true");
      state = "visible";
      document.dispatchEvent(new Event("visibilitychange"));
    });
  });
  await page.goto(payment.url);
  await page.getByRole("button", { name: "Continue to payment" }).waitFor();
  expect(await statusOf(payment)).toBe("pending");
  await page.evaluate(() => dispatchEvent(new Event("show-page")));
  await page.getByRole("button", { name: "Pay", exact: true }).waitFor();
  expect(await statusOf(payment)).toBe("processing");
  const posted: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") posted.push(request.url());
  });
  await page.goBack();
  await page.getByRole("button", { name: "Continue to payment" }).waitFor();
  // The script of the page runs before the second frame.
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  expect([page.url(), posted]).toEqual([payment.url, []]);
  await page.getByRole("button", { name: "Continue to payment" }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).waitFor();
});
