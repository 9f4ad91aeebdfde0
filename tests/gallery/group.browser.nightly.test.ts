/** Tests the behavior of groups over time (U04, U10), on a controlled clock. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { move, openStage, findEvent, show, still, withBrowser } from "./stage-page.ts";

withBrowser();

const HEAD = ".ts-group-head";

async function isOpen(page: Page): Promise<boolean> {
  return (await page.getAttribute(HEAD, "aria-expanded")) === "true";
}

/** Counts endless animations in the group. */
async function shimmers(page: Page): Promise<number> {
  return await page.evaluate(() => {
    const endless = document.getAnimations().flatMap(({ effect }) => {
      const isEndless = effect?.getComputedTiming().iterations === Infinity;
      return isEndless && effect instanceof KeyframeEffect ? [effect.target] : [];
    });
    return endless.filter((target) => target?.closest(".ts-group-head")).length;
  });
}

test("U04: a group collapses by itself 300 ms after its end, and not earlier", async () => {
  const page = await openStage({ prepare: async (fresh) => await fresh.clock.install() });
  await show(page, "group/running-3");
  const end = await findEvent(page, "group.end");
  await move(page, end - 1);
  expect(await isOpen(page)).toBe(true);
  await page.clock.pauseAt(Date.now() + 3_600_000);
  // Don't await: the promise resolves with the next frame, and the clock is paused.
  await page.evaluate((at) => void window.gallery?.move(at), end);
  await page.waitForFunction(() =>
    document.querySelector(".ts-group-title")?.textContent?.includes("session"),
  );
  await page.clock.runFor(280);
  expect(await isOpen(page)).toBe(true);
  await page.clock.runFor(40);
  await page.waitForSelector(`${HEAD}[aria-expanded=false]`);
});

test("U04: with the real clock, a group never collapses early", async () => {
  const page = await openStage();
  await show(page, "group/running-3");
  const end = await findEvent(page, "group.end");
  await move(page, end - 1);
  const took = await page.evaluate(
    async ([head, at]) =>
      await new Promise<number>((resolve) => {
        const button = document.querySelector(head);
        const since = performance.now();
        new MutationObserver(() => {
          if (button?.getAttribute("aria-expanded") === "false") resolve(performance.now() - since);
        }).observe(document.body, { subtree: true, attributes: true });
        void window.gallery?.move(at);
      }),
    [HEAD, end] as const,
  );
  expect(took).toBeGreaterThanOrEqual(299);
});

test("U04: a running group shows its newest three entries under the last label, and shimmers", async () => {
  const page = await openStage();
  await show(page, "group/running-7");
  await still(page);
  await expect
    .poll(() => page.locator(".ts-group .ts-tool-label").allInnerTexts())
    .toEqual(["Reading the rate decision", "Reading the portfolio", "Working out the exposure"]);
  await expect.poll(() => page.textContent(".ts-group-title")).toBe("Working out the exposure");
  await expect.poll(() => shimmers(page)).toBeGreaterThan(0);
  await expect.poll(() => page.locator(".ts-group-head .ts-shimmer").count()).toBe(1);
});

test("U10: the name of a running tool shimmers until its result, and not with reduced motion", async () => {
  const page = await openStage();
  await show(page, "group/running-7");
  const running = page.locator('.ts-step[data-dot="pending"] .ts-tool-label');
  const count = await running.count();
  expect(count).toBeGreaterThan(0);
  await expect.poll(() => page.locator(".ts-tool-label.ts-shimmer").count()).toBe(count);
  const animation = () =>
    running.first().evaluate((label) => getComputedStyle(label, "::after").animationName);
  await expect.poll(animation).toBe("ts-shimmer");
  await page.emulateMedia({ reducedMotion: "reduce" });
  await expect.poll(animation).toBe("none");
  await move(page, await findEvent(page, "group.end"));
  await expect.poll(() => page.locator(".ts-tool-label.ts-shimmer").count()).toBe(0);
});

test("U04: an ended group doesn't shimmer; expanded again, it shows all steps and a done mark", async () => {
  const page = await openStage();
  await show(page, "group/running-7");
  await move(page, await findEvent(page, "group.end"));
  await page.waitForSelector(`${HEAD}[aria-expanded=false]`);
  await expect
    .poll(() => page.textContent(".ts-group-title"))
    .toBe("Looked up prices and reports of the session");
  await expect.poll(() => page.locator(".ts-group .ts-shimmer").count()).toBe(0);
  await expect.poll(() => shimmers(page)).toBe(0);
  await page.click(HEAD);
  await expect.poll(() => page.locator(".ts-group .ts-tool-head").count()).toBe(7);
  await expect.poll(() => page.locator(".ts-group-done").count()).toBe(1);
});

test("U04: a group stays collapsed or expanded as the user left it", async () => {
  const page = await openStage();
  await show(page, "group/running-3");
  await page.click(HEAD);
  await expect.poll(() => isOpen(page)).toBe(false);
  const end = await findEvent(page, "group.end");
  for (let at = await findEvent(page, "tool_result.start", 3); at < end; at++) await move(page, at + 1);
  expect(await isOpen(page)).toBe(false);
  await page.click(HEAD);
  await expect.poll(() => isOpen(page)).toBe(true);
  await move(page, end + 3);
  await still(page, 800);
  expect(await isOpen(page)).toBe(true);
});

test("U04: a group in history is collapsed from the start", async () => {
  const page = await openStage();
  await show(page, "group/in-history");
  expect(await isOpen(page)).toBe(false);
});

test("U05: a card that waits for the user stays visible when its group is collapsed", async () => {
  const page = await openStage();
  await show(page, "approval/pending");
  await page.click(HEAD);
  await expect.poll(() => isOpen(page)).toBe(false);
  await expect.poll(() => page.locator("[data-card=approval]").isVisible()).toBe(true);
});
