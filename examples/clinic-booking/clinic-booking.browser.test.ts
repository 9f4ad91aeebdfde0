/**
 * Tests the example as a user runs it: started by its command, with the payment sandbox in its own process. Users pay,
 * fail to pay and cancel, with two tabs open.
 */
import { readFileSync } from "node:fs";
import { readConsole } from "@turnstream/browser/artefacts.ts";
import { closeBrowser, openBrowser } from "@turnstream/browser/chromium.ts";
import { type Started, startExample } from "@turnstream/browser/start-example.ts";
import { isAlive, listDescendants } from "@turnstream/testkit/processes/process-tree.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BookingTab, openUser } from "./booking-steps.ts";

let example: Started;
let browser: Browser;

beforeAll(async () => {
  [example, browser] = await Promise.all([startExample("clinic-booking", ["--port", "0"]), openBrowser()]);
}, 180_000);
afterAll(async () => {
  await closeBrowser(browser);
  await example?.interrupt();
});

const openTab = async () => await BookingTab.open(await openUser(browser), example.url);

test("S08 a deposit changes from pending to succeeded in two tabs, and the agent continues with it", async () => {
  const tab = await openTab();
  await tab.book("林怡君");
  const other = await tab.openSecondTab();
  await other.sees("pending");
  expect(await tab.card().locator(".ts-amount").innerText()).toBe("$300");

  const provider = await tab.openCheckout();
  await Promise.all([tab.sees("processing"), other.sees("processing")]);
  // Nothing is paid yet, so the agent has not answered.
  expect(await tab.page.getByText("預約完成").count()).toBe(0);
  await provider.getByRole("button", { name: "付款成功" }).click();
  await provider.getByRole("heading", { name: "已收到付款" }).waitFor();
  await Promise.all([tab, other].map((one) => one.sees("succeeded")));
  await Promise.all([tab, other].map((one) => one.reads("訂金收到了，預約完成")));
  await tab.reads("姓名：林怡君");
  expect(await tab.checkoutLink.count()).toBe(0);

  await tab.page.reload();
  await tab.sees("succeeded");
  await tab.reads("訂金收到了，預約完成");
  // The message of the user is the only one: neither the form nor the payment needed another.
  expect(await tab.page.locator(".ts-bubble").count()).toBe(1);
  expect(await tab.page.locator("[data-card=payment]").count()).toBe(1);
  expect(
    [...readConsole(tab.page), ...readConsole(other.page)].filter((line) => line.startsWith("thrown")),
  ).toEqual([]);
});

test("S08 a failed payment is final, and the user can pay a new one", async () => {
  const tab = await openTab();
  await tab.book("陳柏翰");
  const provider = await tab.openCheckout();
  await provider.getByRole("button", { name: "付款失敗" }).click();
  await provider.getByRole("heading", { name: "付款失敗" }).waitFor();
  await tab.sees("failed");
  await tab.reads("這次付款沒有成功");
  expect(await tab.checkoutLink.count()).toBe(0);

  await tab.page.getByRole("textbox").fill("重新付款");
  await tab.page.keyboard.press("Enter");
  await tab.sees("pending");
  const again = await tab.openCheckout();
  await again.getByRole("button", { name: "付款成功" }).click();
  await tab.sees("succeeded");
  await tab.reads("訂金收到了，預約完成");
  await expect
    .poll(() => tab.page.locator("[data-card=payment] .ts-pill").allInnerTexts())
    .toEqual(["付款失敗", "已付款"]);
});

test("S13 the user cancels a pending deposit, and its checkout page opens nothing", async () => {
  const tab = await openTab();
  await tab.book("黃雅婷");
  const other = await tab.openSecondTab();
  const checkoutUrl = (await tab.checkoutLink.getAttribute("href")) ?? "";
  await tab.card().getByRole("button", { name: "取消", exact: true }).click();
  await tab.card().getByRole("button", { name: "取消付款" }).click();
  await Promise.all([tab.sees("cancelled"), other.sees("cancelled")]);
  await Promise.all([tab.reads("這筆訂金已經取消"), other.reads("這筆訂金已經取消")]);

  const late = await tab.page.context().newPage();
  await late.goto(checkoutUrl);
  await late.getByRole("heading", { name: "付款已取消" }).waitFor();
  expect(await late.getByRole("button").count()).toBe(0);
  await tab.page.reload();
  await tab.sees("cancelled");
});

test("Ctrl-C stops everything, also the process of the payment sandbox", async () => {
  const pids = listDescendants(example.pid);
  const commands = pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8"));
  for (const name of ["redis-server", "postgres", "run-payment-sandbox"])
    expect(commands.some((command) => command.includes(name))).toBe(true);
  await example.interrupt();
  await until("its processes to exit", () => !pids.some(isAlive));
  // Its output may arrive after it has exited.
  await expect.poll(() => example.lines).toContain("Stopping…");
  await expect(fetch(example.url)).rejects.toThrow("fetch failed");
});
