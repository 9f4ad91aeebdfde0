/** Tests how content is framed in Chromium: wide code and tables, citations, and touch targets. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openStage, show, withBrowser } from "./stage-page.ts";

withBrowser();

const PHONE = { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true };

test("a long line fades out where it continues, and can be wrapped", async () => {
  const page = await openStage({ viewport: { width: 390, height: 800 } });
  await show(page, "text/code");
  const block = page.locator(".ts-code").last();
  const code = block.locator("pre");
  await expect.poll(() => code.getAttribute("data-more")).toBe("right");
  expect(await code.evaluate((pre) => getComputedStyle(pre).maskImage)).toContain("gradient");
  await code.evaluate((pre) => pre.scrollTo({ left: 20 }));
  await expect.poll(() => code.getAttribute("data-more")).toBe("left right");
  await code.evaluate((pre) => pre.scrollTo({ left: pre.scrollWidth }));
  await expect.poll(() => code.getAttribute("data-more")).toBe("left");
  const wrap = block.getByRole("button", { name: "Wrap" });
  await wrap.click();
  await expect.poll(() => code.getAttribute("data-more")).toBe("");
  expect(await wrap.getAttribute("aria-pressed")).toBe("true");
  expect(await code.evaluate((pre) => pre.scrollWidth - pre.clientWidth)).toBe(0);
  await wrap.click();
  await expect.poll(() => code.getAttribute("data-more")).toBe("right");
});

test("code whose lines fit has no button to wrap them", async () => {
  const page = await openStage({ viewport: { width: 1100, height: 800 } });
  await show(page, "text/code");
  const first = page.locator(".ts-code").first();
  expect(await first.getByRole("button").allInnerTexts()).toEqual(["Copy"]);
  expect(await first.locator("pre").getAttribute("data-wide")).toBe(null);
});

test("a wide table fades out at its end, in both text directions", async () => {
  for (const [dir, side, angle] of [
    ["ltr", "right", "270deg"],
    ["rtl", "left", "90deg"],
  ] as const) {
    const page = await openStage({ viewport: { width: 300, height: 800 }, address: { dir } });
    await show(page, "artifact/table");
    const table = page.locator(".ts-table-scroll");
    await expect.poll(() => table.getAttribute("data-more")).toBe(side);
    expect(await table.evaluate((element) => getComputedStyle(element).maskImage)).toContain(`(${angle}`);
    await page.context().close();
  }
});

test("code, tables and charts have the same frame", async () => {
  const page = await openStage();
  const frames: string[] = [];
  for (const [name, selector] of [
    ["text/code", ".ts-code"],
    ["text/table", ".ts-table-frame"],
    ["artifact/chart-line", ".ts-artifact"],
  ] as const) {
    await show(page, name);
    frames.push(
      await page
        .locator(selector)
        .first()
        .evaluate((element) => {
          const { border, borderRadius, backgroundColor, boxShadow } = getComputedStyle(element);
          return `${border} ${borderRadius} ${backgroundColor} ${boxShadow}`;
        }),
    );
  }
  expect(new Set(frames).size).toBe(1);
});

test("the card of a citation covers neither its number nor the list of sources", async () => {
  const page = await openStage();
  await show(page, "citation/opened");
  await page.locator(".ts-cite-card:popover-open").waitFor();
  const covered = await page.evaluate(() => {
    const [card, ...others] = [
      ".ts-cite-card:popover-open",
      "[aria-expanded=true].ts-cite-chip",
      ".ts-sources",
    ].map((selector) => document.querySelector(selector)?.getBoundingClientRect() ?? new DOMRect());
    return others.map((box) => card === undefined || (card.bottom > box.top && card.top < box.bottom));
  });
  expect(covered).toEqual([false, false]);
});

/** Returns the controls that a finger can hit only within less than 44 px, without links inside a text. */
async function smallTargets(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const controls = [
      ...document.querySelectorAll<HTMLElement>(
        "button, select, textarea, input:not([type=hidden]), a.ts-button, a.ts-problem-link",
      ),
    ];
    return controls.flatMap((control) => {
      if (control.matches(".ts-cite-chip, .ts-a, .ts-sr:not([type=file]), [aria-hidden=true]")) return [];
      if (!control.checkVisibility()) return [];
      // A label is part of the target of its input.
      const labels = control instanceof HTMLInputElement ? [...(control.labels ?? [])] : [];
      const heights = [control, ...labels].map((element) => element.getBoundingClientRect().height);
      const height = Math.max(...heights);
      return height >= 43.5 ? [] : [`${control.localName}.${control.className} ${height}`];
    });
  });
}

test("every control of a card, of content and of a composer is at least 44 px high for a finger", async () => {
  const page = await openStage(PHONE);
  const small: Record<string, string[]> = {};
  for (const name of [
    "approval/always",
    "approval/editing",
    "approval/rejecting",
    "question/several",
    "form/errors",
    "payment/pending",
    "payment/cancelling",
    "text/code",
    "thinking/opened",
    "tool/opened",
    "group/ended-opened",
    "artifact/chart-line",
    "artifact/file",
    "notice/error-retry",
    "message/outgoing-failed",
    "share-dialog/links",
    "session-list/some",
    "composer/attachments",
  ]) {
    await show(page, name);
    const found = await smallTargets(page);
    if (found.length > 0) small[name] = found;
  }
  expect(small).toEqual({});
});

test("the test of touch targets finds a small control, and a mouse keeps the small ones", async () => {
  const page = await openStage();
  await show(page, "approval/pending");
  expect((await smallTargets(page)).join("\n")).toContain("button.ts-button");
});
