/**
 * Tests that no content is wider than its page, in either text direction, and that reduced motion stops all animations.
 */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openStage, show, stateNames, withBrowser } from "./stage-page.ts";

withBrowser();

/** Returns how much wider than the page the content is, without content that scrolls or is clipped inside. */
async function overhang(page: Page): Promise<number> {
  return await page.evaluate(() => {
    const boxes = [
      document.documentElement,
      ...document.querySelectorAll(".ts-scroll, .ts-thread, .ts-unboxed, .ts-modal, .ts-sessions"),
    ];
    return Math.max(...boxes.map((box) => box.scrollWidth - box.clientWidth));
  });
}

test.each(["ltr", "rtl"] as const)("no state scrolls horizontally on a phone, %s", async (dir) => {
  const viewport = { width: 360, height: 800 };
  const page = await openStage({ address: { dir }, viewport, reducedMotion: "reduce" });
  const wide: Record<string, number> = {};
  for (const name of await stateNames(page)) {
    await show(page, name);
    const over = await overhang(page);
    if (over > 0) wide[name] = over;
  }
  expect(wide).toEqual({});
});

test("the test detects content that is too wide", async () => {
  const page = await openStage({ viewport: { width: 360, height: 800 } });
  await page.evaluate(() =>
    document.querySelector(".ts-turns")?.insertAdjacentHTML("beforeend", '<p style="width:500px">wide</p>'),
  );
  expect(await overhang(page)).toBeGreaterThan(0);
});

async function moving(page: Page): Promise<number> {
  return await page.evaluate(
    () => document.getAnimations().filter(({ playState }) => playState === "running").length,
  );
}

test("nothing moves with reduced motion", async () => {
  const page = await openStage({ reducedMotion: "reduce" });
  const restless: string[] = [];
  const busy = (await stateNames(page)).filter((name) =>
    /running|pending|streaming|processing|ended|waiting/.test(name),
  );
  for (const name of busy) {
    await show(page, name);
    if ((await moving(page)) > 0) restless.push(name);
  }
  expect(restless).toEqual([]);
});

test("animations change only opacity and transform", async () => {
  const page = await openStage();
  const moved = new Set<string>();
  const running = (await stateNames(page)).filter((name) =>
    /running|pending|streaming|just-ended/.test(name),
  );
  for (const name of running) {
    await show(page, name);
    const properties = await page.evaluate(() =>
      document
        .getAnimations()
        .flatMap(({ effect }) =>
          effect instanceof KeyframeEffect
            ? effect.getKeyframes().flatMap((frame) => Object.keys(frame))
            : [],
        ),
    );
    for (const property of properties) moved.add(property);
  }
  for (const bookkeeping of ["offset", "computedOffset", "easing", "composite"]) moved.delete(bookkeeping);
  expect(moved.size).toBeGreaterThan(0);
  expect(
    [...moved].filter(
      (property) => !["opacity", "transform", "rotate", "scale", "translate"].includes(property),
    ),
  ).toEqual([]);
});
