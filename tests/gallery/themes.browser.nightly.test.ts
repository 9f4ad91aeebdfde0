/**
 * Tests which theme applies: that of the nearest element with a class or `data-theme`, else that of the system, and the
 * variables of a shadcn theme.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openStage, show, withBrowser } from "./stage-page.ts";

withBrowser();

const LIGHT = { background: "rgb(251, 250, 248)", color: "rgb(31, 29, 26)" };
const DARK = { background: "rgb(23, 22, 20)", color: "rgb(236, 232, 225)" };

async function themeOf(page: Page): Promise<typeof LIGHT> {
  return await page.evaluate(() => {
    const { backgroundColor, color } = getComputedStyle(document.querySelector(".ts-thread") as Element);
    return { background: backgroundColor, color };
  });
}

const resolve = createRequire(import.meta.url).resolve;

/** Returns a style sheet of the package with those that it imports. */
function readStyles(path: string): string {
  return readFileSync(path, "utf8").replaceAll(/@import "(.+)";/g, (_, other: string) =>
    readStyles(join(dirname(path), other)),
  );
}

/** Vite replaces `light-dark()` for older browsers. */
async function usePublishedStyles(page: Page): Promise<void> {
  const css = readStyles(resolve("@turnstream/react/styles.css"));
  expect(css).toContain("light-dark(");
  await page.evaluate((text) => {
    for (const link of document.querySelectorAll("link[rel=stylesheet]")) link.remove();
    document.head.append(Object.assign(document.createElement("style"), { textContent: text }));
  }, css);
}

interface Marks {
  /** Attributes of the elements, from the outside. */
  readonly html?: Readonly<Record<string, string>>;
  readonly main?: Readonly<Record<string, string>>;
  readonly root?: Readonly<Record<string, string>>;
}

async function mark(page: Page, marks: Marks): Promise<void> {
  await page.evaluate((wanted) => {
    const places = { html: "html", main: "main", root: ".ts-root" };
    for (const [name, selector] of Object.entries(places)) {
      const element = document.querySelector(selector);
      for (const attribute of ["class", "data-theme"]) {
        const value = wanted[name as keyof typeof wanted]?.[attribute];
        if (name === "root" && attribute === "class") continue;
        if (value === undefined) element?.removeAttribute(attribute);
        else element?.setAttribute(attribute, value);
      }
    }
  }, marks);
}

const CASES: readonly (readonly [title: string, marks: Marks, theme: "system" | typeof LIGHT])[] = [
  ["no mark", {}, "system"],
  ["the class dark", { html: { class: "dark" } }, DARK],
  ["the class light", { html: { class: "light" } }, LIGHT],
  ["data-theme dark", { html: { "data-theme": "dark" } }, DARK],
  ["data-theme light", { html: { "data-theme": "light" } }, LIGHT],
  ["another data-theme", { html: { "data-theme": "sepia" } }, "system"],
  ["light inside dark", { html: { class: "dark" }, main: { "data-theme": "light" } }, LIGHT],
  ["dark inside light", { html: { "data-theme": "light" }, main: { class: "dark" } }, DARK],
  ["the prop theme inside light", { html: { class: "light" }, root: { "data-theme": "dark" } }, DARK],
  ["the prop theme inside dark", { html: { class: "dark" }, root: { "data-theme": "light" } }, LIGHT],
];

test.each([
  ["light", "as Vite builds them"],
  ["dark", "as Vite builds them"],
  ["light", "as published"],
  ["dark", "as published"],
] as const)("marks choose the theme, on a system that is %s, with styles %s", async (colorScheme, form) => {
  const page = await openStage({ address: { theme: "auto" }, colorScheme });
  if (form === "as published") await usePublishedStyles(page);
  const seen: Record<string, typeof LIGHT> = {};
  for (const [title, marks] of CASES) {
    await mark(page, marks);
    seen[title] = await themeOf(page);
  }
  const system = colorScheme === "dark" ? DARK : LIGHT;
  expect(seen).toEqual(
    Object.fromEntries(CASES.map(([title, , theme]) => [title, theme === "system" ? system : theme])),
  );
});

test("the theme follows the system while the page is open", async () => {
  const page = await openStage({ address: { theme: "auto" }, colorScheme: "light" });
  expect(await themeOf(page)).toEqual(LIGHT);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await themeOf(page)).toEqual(DARK);
});

test("a chart is drawn again in the colors of another theme", async () => {
  const page = await openStage({ address: { theme: "auto" }, colorScheme: "light" });
  await show(page, "artifact/chart-bar");
  const canvas = page.locator(".ts-chart canvas");
  const drawn = async (): Promise<string> =>
    await canvas.evaluate((element) => (element as HTMLCanvasElement).toDataURL());
  const blank = await canvas.evaluate((element) => {
    const { width, height } = element as HTMLCanvasElement;
    return Object.assign(document.createElement("canvas"), { width, height }).toDataURL();
  });
  await expect.poll(drawn).not.toBe(blank);
  const light = await drawn();
  await mark(page, { html: { class: "dark" } });
  await expect.poll(drawn).not.toBe(light);
  await mark(page, {});
  await expect.poll(drawn).toBe(light);
});

const SHADCN = `
  :root { --radius: 4px; --background: oklch(1 0 0); --foreground: oklch(0 0 0); --card: #eee; --muted: #ddd;
    --muted-foreground: #555; --border: #ccc; --primary: rgb(1, 2, 3); --primary-foreground: #fff;
    --destructive: #a00 }
  .dark { --background: oklch(0 0 0); --foreground: oklch(1 0 0); --primary: rgb(4, 5, 6) }
`;

test("with shadcn.css, the tokens are those of the shadcn theme", async () => {
  const page = await openStage({ address: { theme: "auto" }, colorScheme: "dark" });
  await page.addStyleTag({ content: `${SHADCN}${readStyles(resolve("@turnstream/react/shadcn.css"))}` });
  await show(page, "approval/pending");
  const look = async () =>
    await page.evaluate(() => {
      const [thread, primary, time] = [".ts-thread", ".ts-primary", ".ts-time-left"].map((selector) =>
        getComputedStyle(document.querySelector(selector) as Element),
      );
      return {
        thread: thread?.backgroundColor,
        primary: primary?.backgroundColor,
        radius: primary?.borderRadius,
        waiting: time?.color,
      };
    });
  // shadcn marks only dark pages, so an unmarked page is light on a dark system too.
  expect(await look()).toEqual({
    thread: "oklch(1 0 0)",
    primary: "rgb(1, 2, 3)",
    radius: "2px",
    waiting: "rgb(168, 75, 8)",
  });
  await mark(page, { html: { class: "dark" } });
  expect(await look()).toEqual({
    thread: "oklch(0 0 0)",
    primary: "rgb(4, 5, 6)",
    radius: "2px",
    waiting: "rgb(240, 176, 74)",
  });
});
