/**
 * Tests that the components look the same below the reset of any app, before or after our styles, and that an app can
 * still change them: with one class, and below Tailwind 4 with its utilities.
 */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { compareLooks, type Look, lookAt } from "./looks.ts";
import { loadResets, type ResetName } from "./resets.ts";
import { openStage, show, stateNames, withBrowser } from "./stage-page.ts";

withBrowser();

const STATES = [
  "approval/always",
  "approval/editing",
  "question/several",
  "form/errors",
  "payment/refused",
  "text/headings",
  "artifact/chart-as-table",
  "citation/opened",
  "group/failure-opened",
  "composer/attachments",
  "share-dialog/links",
  "chat/conversation",
];

let resets: Readonly<Record<ResetName, string>>;
beforeAll(async () => {
  resets = await loadResets();
});

/** Inserts the styles of an app before or after ours. */
async function addStyles(page: Page, css: string, place: "before" | "after"): Promise<void> {
  await page.evaluate(
    ([text, where]) => {
      const style = document.createElement("style");
      style.textContent = text;
      if (where === "before") document.head.prepend(style);
      else document.head.append(style);
    },
    [css, place] as const,
  );
}

/** Moves our styles into the layer of components, as docs/styling.md recommends for Tailwind 4. */
async function moveIntoLayer(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (const link of document.querySelectorAll<HTMLLinkElement>("link[rel=stylesheet]")) {
      const css = await (await fetch(link.href)).text();
      const style = document.createElement("style");
      style.textContent = `@layer components { ${css} }`;
      link.replaceWith(style);
    }
  });
}

const APPEARANCE = { viewport: { width: 900, height: 900 }, reducedMotion: "reduce" } as const;
const baselines = new Map<string, Look>();

async function baselineOf(state: string, page: Page): Promise<Look> {
  const known = baselines.get(state);
  if (known !== undefined) return known;
  await show(page, state);
  const look = await lookAt(page);
  baselines.set(state, look);
  return look;
}

const VARIANTS = [
  { reset: "Tailwind 3", place: "before" },
  { reset: "Tailwind 3", place: "after" },
  { reset: "Tailwind 4", place: "before" },
  { reset: "Tailwind 4", place: "after" },
  { reset: "Tailwind 4", place: "around" },
  { reset: "Bootstrap", place: "before" },
  { reset: "Bootstrap", place: "after" },
  { reset: "MUI", place: "before" },
  { reset: "MUI", place: "after" },
  { reset: "*", place: "before" },
  { reset: "*", place: "after" },
] as const;

test.each(VARIANTS)(
  "the components look the same with the reset of $reset $place our styles",
  async ({ reset, place }) => {
    const plain = await openStage(APPEARANCE);
    const page = await openStage(APPEARANCE);
    if (place === "around") await moveIntoLayer(page);
    await addStyles(page, resets[reset], place === "after" ? "after" : "before");
    const report: Record<string, string[]> = {};
    for (const state of STATES) {
      const before = await baselineOf(state, plain);
      await show(page, state);
      const after = await lookAt(page);
      expect(before.boxes.length, state).toBeGreaterThan(0);
      const found = await compareLooks(page, before, after);
      if (found.length > 0) report[state] = found;
    }
    expect(report).toEqual({});
  },
);

test("the states exist, and a reset that changes a component is found", async () => {
  const page = await openStage(APPEARANCE);
  const names = await stateNames(page);
  expect(STATES.filter((state) => !names.includes(state))).toEqual([]);
  await show(page, "approval/always");
  const before = await lookAt(page);
  expect(await compareLooks(page, before, await lookAt(page))).toEqual([]);
  await addStyles(page, "#stage button { padding: 0; background: transparent; border: 0 }", "after");
  const found = await compareLooks(page, before, await lookAt(page));
  expect(found.filter((line) => line.includes("button.ts-button")).length).toBeGreaterThan(3);
  expect(found.some((line) => /ts-card.* moved/.test(line))).toBe(true);
  expect(found.some((line) => /ts-row differs in [\d.]+ %/.test(line))).toBe(true);
});

test("one class of the app overrides every part", async () => {
  const page = await openStage(APPEARANCE);
  await addStyles(
    page,
    ".mine { padding: 1px 2px; margin: 3px; border: 4px dotted rgb(1, 2, 3); border-radius: 5px; " +
      "background: rgb(4, 5, 6); color: rgb(7, 8, 9); font-size: 20px }",
    "after",
  );
  const lost: Record<string, string[]> = {};
  for (const state of STATES) {
    await show(page, state);
    const found = await page.evaluate(() => {
      const parts = [...document.querySelectorAll(".ts-root :is([class^='ts-'], [class*=' ts-'])")];
      for (const part of parts) part.classList.add("mine");
      return parts.flatMap((part) => {
        const { padding, margin, border, borderRadius, backgroundColor, color, fontSize } =
          getComputedStyle(part);
        const seen = [padding, margin, border, borderRadius, backgroundColor, color, fontSize].join("; ");
        return seen === "1px 2px; 3px; 4px dotted rgb(1, 2, 3); 5px; rgb(4, 5, 6); rgb(7, 8, 9); 20px"
          ? []
          : [`${part.className}: ${seen}`];
      });
    });
    if (found.length > 0) lost[state] = found;
  }
  expect(lost).toEqual({});
});

test("below Tailwind 4, utilities override parts if our styles are in the layer of components", async () => {
  const page = await openStage(APPEARANCE);
  await moveIntoLayer(page);
  await addStyles(page, resets["Tailwind 4"], "before");
  await show(page, "approval/always");
  const padding = async (): Promise<string> =>
    await page.evaluate(() => getComputedStyle(document.querySelector(".ts-button") as Element).padding);
  expect(await padding()).toBe("4px 12px");
  await page.evaluate(() => document.querySelector(".ts-button")?.classList.add("p-0"));
  expect(await padding()).toBe("0px");
});

test.each(["before", "after"] as const)(
  "components of the app inside a thread keep the reset of the app, %s our styles",
  async (place) => {
    const page = await openStage(APPEARANCE);
    await show(page, "text/done");
    const own = async (): Promise<string[]> =>
      await page.evaluate(() =>
        [".ts-turn", "body"].map((around) => {
          const button = document.createElement("button");
          document.querySelector(around)?.append(button);
          const { padding, borderTopWidth, backgroundColor, boxSizing } = getComputedStyle(button);
          button.remove();
          return [padding, borderTopWidth, backgroundColor, boxSizing].join("; ");
        }),
      );
    const [without, withoutOutside] = await own();
    expect(without).toBe(withoutOutside);
    await addStyles(page, resets["Tailwind 3"], place);
    const [inside, outside] = await own();
    expect(inside).toBe(outside);
    expect(inside).not.toBe(without);
  },
);
