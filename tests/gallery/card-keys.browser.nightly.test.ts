/** Tests that a waiting card adds its keyboard listener once, however often it renders. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openStage, show, withBrowser } from "./stage-page.ts";

withBrowser();

interface Counted {
  added: number;
}

/** Counts the calls that add a `keydown` listener to the document. */
async function countListeners(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const counted: Counted = { added: 0 };
    Object.assign(window, { counted });
    const add = document.addEventListener.bind(document);
    document.addEventListener = (...call: Parameters<Document["addEventListener"]>): void => {
      if (call[0] === "keydown") counted.added++;
      add(...call);
    };
  });
}

async function added(page: Page): Promise<number> {
  return await page.evaluate(() => (window as unknown as { readonly counted: Counted }).counted.added);
}

test("a waiting approval adds one listener, and its keys act on the newest render", async () => {
  const page = await openStage({ prepare: countListeners });
  await show(page, "approval/pending");
  const card = page.locator("[data-card=approval]");
  await card.waitFor();
  const before = await added(page);
  expect(before).toBeGreaterThan(0);
  for (let n = 0; n < 5; n++) {
    await card.focus();
    await page.keyboard.press("n");
    await card.locator(".ts-reason").waitFor();
    await page.keyboard.press("Escape");
    await card.locator("[data-action=approve]").waitFor();
  }
  expect(await added(page)).toBe(before);
});
