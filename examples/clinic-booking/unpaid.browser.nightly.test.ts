/** Tests deposits that are never paid: the example gives its users only a few seconds. */
import { closeBrowser, openBrowser } from "@turnstream/browser/chromium.ts";
import { type Started, startExample } from "@turnstream/browser/start-example.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BookingTab, openUser } from "./booking-steps.ts";

/** Long enough to open the checkout page on a busy machine. */
const PAY_SECONDS = 30;

let example: Started;
let browser: Browser;

beforeAll(async () => {
  [example, browser] = await Promise.all([
    startExample("clinic-booking", ["--port", "0", "--pay-seconds", String(PAY_SECONDS)]),
    openBrowser(),
  ]);
}, 180_000);
afterAll(async () => {
  await closeBrowser(browser);
  await example?.interrupt();
});

test("S08 unpaid deposits expire: one whose user comes back without paying, and one that is never opened", async () => {
  const [unopened, abandoned] = await Promise.all(
    ["吳家豪", "張淑芬"].map(async () => await BookingTab.open(await openUser(browser), example.url)),
  );
  if (unopened === undefined || abandoned === undefined) throw new Error("two tabs were opened");
  await unopened.book("吳家豪");

  await abandoned.book("張淑芬");
  const provider = await abandoned.openCheckout();
  await provider.getByRole("button", { name: "放棄付款，返回商店" }).click();
  await provider.getByRole("heading", { name: "等待確認中" }).waitFor();
  await abandoned.sees("processing");
  // Once the checkout was open, the payment can't be cancelled, only continued.
  expect(await abandoned.card().getByRole("button", { name: "取消", exact: true }).count()).toBe(0);
  expect(await abandoned.checkoutLink.innerText()).toContain("繼續付款");

  for (const tab of [unopened, abandoned]) {
    await tab.sees("expired");
    await tab.reads("付款時間已經過了");
    expect(await tab.checkoutLink.count()).toBe(0);
  }
  // The return page is still open and follows.
  await provider.getByRole("heading", { name: "付款已過期" }).waitFor();
  await abandoned.page.reload();
  await abandoned.sees("expired");
});
