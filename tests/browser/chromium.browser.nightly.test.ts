/** Tests that Chromium is available and renders the built pages. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Browser } from "playwright-core";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { type PageName, pageUrl } from "./pages.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(async () => {
  await closeBrowser(browser);
});

test.each<PageName>(["gallery", "live"])("Chromium renders the page %s", async (name) => {
  const page = await browser.newPage();
  await page.goto(pageUrl(name));
  await page.waitForSelector(".ts-root");
  await expect.poll(() => page.textContent("body")).not.toBe("");
});
