/** Tests the gallery itself: moving through a log and back gives the same page, and its URL, keys and switches work. */
import { pageUrl } from "@turnstream/browser/pages.ts";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { move, openStage, show, still, withBrowser } from "./stage-page.ts";

withBrowser();

/** Returns the page with everything expanded, without React's generated ids and without the last announcement. */
async function drawn(page: Page): Promise<string> {
  for (let depth = 0; depth < 3; depth++) {
    await still(page, 350);
    await page.evaluate(() => {
      for (const head of document.querySelectorAll<HTMLElement>("[aria-expanded=false]")) head.click();
    });
  }
  await still(page);
  const html = await page.innerHTML(".ts-turns");
  return html.replaceAll(/ (id|for|aria-controls|aria-labelledby|aria-describedby|name)="[^"]*"/g, "");
}

const LOGS = ["sub-agent/side-by-side", "story/market-order-approved", "scenario/takeover"];

test.each(LOGS)("moving back and forth gives the same page: %s", async (name) => {
  const page = await openStage({
    prepare: async (fresh) => await fresh.clock.setFixedTime(1_800_000_000_000),
  });
  await show(page, name, 0);
  const length = await page.evaluate(() => window.gallery?.events.length ?? 0);
  const places = [0.3, 0.6, 0.85].map((share) => Math.round(length * share));
  const seen: string[] = [];
  for (const at of places) {
    await move(page, at);
    seen.push(await drawn(page));
  }
  await move(page, length);
  await still(page);
  for (const [n, at] of [...places.entries()].toReversed()) {
    await move(page, at);
    expect(await drawn(page)).toBe(seen[n]);
  }
});

async function openGallery(query: string): Promise<Page> {
  const page = await openStage();
  await page.goto(`${pageUrl("gallery")}/${query}`);
  await page.waitForSelector(".g-player");
  return page;
}

test("the URL describes the shown state and restores it", async () => {
  const page = await openGallery("?state=approval/pending&theme=dark&locale=vi&dir=rtl&width=360");
  const frame = page.frameLocator(".g-frame");
  await frame.locator("[data-card=approval]").waitFor();
  await expect.poll(() => frame.locator("html").getAttribute("dir")).toBe("rtl");
  await expect.poll(() => frame.locator("html").getAttribute("data-theme")).toBe("dark");
  await expect.poll(() => frame.locator("html").getAttribute("lang")).toBe("vi");
  await expect
    .poll(() => page.evaluate(() => document.querySelector(".g-frame")?.clientWidth))
    .toBeLessThanOrEqual(360);
  await page.getByRole("button", { name: "light", exact: true }).click();
  await page.getByRole("button", { name: "streaming", exact: true }).first().click();
  await expect
    .poll(() => new URL(page.url()).search)
    .toBe("?state=text/streaming&locale=vi&theme=light&dir=rtl&width=360");
});

test("keys and the slider move through the log, and playback reaches its end", async () => {
  const page = await openGallery("?state=text/done&at=3");
  const count = page.locator(".g-event b");
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => count.textContent()).toBe("4");
  await page.keyboard.press("Home");
  await expect.poll(() => count.textContent()).toBe("0");
  await page.getByRole("slider").fill("7");
  await expect.poll(() => count.textContent()).toBe("7");
  await page.getByRole("button", { name: "Play", exact: true }).click();
  const length = await page.evaluate(() => window.gallery?.events.length ?? 0);
  await page.waitForFunction(
    (end) => document.querySelector(".g-event b")?.textContent === String(end),
    length,
    {
      timeout: 60_000,
    },
  );
  await expect
    .poll(() => page.frameLocator(".g-frame").locator(".ts-turns").textContent())
    .toContain("there is no need to hurry");
});

test("shows received commands", async () => {
  const page = await openGallery("?state=notice/error-retry");
  await page.frameLocator(".g-frame").getByRole("button", { name: "Try again" }).click();
  await page.waitForFunction(() => window.gallery?.commands.some(({ name }) => name === "retry"));
  await page.waitForSelector(".g-command");
  await expect.poll(() => page.textContent(".g-command")).toContain("retry");
});
