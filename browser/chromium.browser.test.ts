/** That there is a browser at all. */
import { expect, test } from "vitest";
import { openBrowser } from "./chromium.ts";

test("Chromium opens and draws", async () => {
  const browser = await openBrowser();
  const page = await browser.newPage();
  await page.setContent("<p>here</p>");
  expect(await page.textContent("p")).toBe("here");
  await browser.close();
});
