/**
 * Takes pictures of every state in both themes: `npm run gallery:shots -- [part of a name] [width]` writes them to
 * `.artefacts/shots/`. Those in `docs/images` are picked from them by hand.
 */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildPage } from "@turnstream/browser/build-page.ts";
import { closeBrowser, openBrowser } from "@turnstream/browser/chromium.ts";
import { serveFolder } from "@turnstream/browser/serve-folder.ts";
import type { Page } from "playwright-core";

const root = join(import.meta.dirname, "..");
const DEFAULT_WIDTH = 720;
const LEAST = 160;
const MOST = 1600;

interface Picture {
  readonly file: string;
  readonly state: string;
  readonly theme: "light" | "dark";
}

/** The height follows the content, within limits. */
async function takePicture(page: Page, { file, state, theme }: Picture): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await page.evaluate(
    async ([name, appearance]) => {
      await window.gallery?.setAppearance({ theme: appearance });
      await window.gallery?.show(name);
    },
    [state, theme] as const,
  );
  await page.waitForLoadState("networkidle");
  const height = await page.evaluate(() => {
    const around = document.querySelector(".ts-dock")?.clientHeight ?? 0;
    const drawn = document.querySelector(".ts-turns, .ts-composer")?.scrollHeight ?? 0;
    const modal = document.querySelector(".ts-modal-body")?.scrollHeight ?? 0;
    const shared = document.querySelector(".ts-shared")?.scrollHeight ?? 0;
    const chat = document.querySelector(".ts-chat") === null ? 0 : 720;
    const list = document.querySelector(".g-side")?.scrollHeight ?? 0;
    const frame = document.querySelector(".g-page")?.clientHeight ?? 0;
    return Math.max(around + drawn, modal, shared, chat, list, frame);
  });
  await page.setViewportSize({ width, height: Math.min(MOST, Math.max(LEAST, height + 40)) });
  await page.waitForTimeout(120);
  mkdirSync(dirname(file), { recursive: true });
  await page.screenshot({ path: file });
}

const wanted = process.argv[2] ?? "";
const width = Number(process.argv[3] ?? DEFAULT_WIDTH);
const site = join(root, ".artefacts/site");
await buildPage(join(root, "gallery"), site);
const served = await serveFolder(site);
const browser = await openBrowser();
try {
  const page = await browser.newPage({ reducedMotion: "reduce", deviceScaleFactor: 1 });
  await page.goto(`${served.url}/stage.html`);
  const states = await page.evaluate(() => window.gallery?.states ?? []);
  for (const theme of ["light", "dark"] as const)
    for (const state of states.filter((name) => name.includes(wanted))) {
      const file = join(root, ".artefacts/shots", theme, `${state.replace("/", "-")}.png`);
      await takePicture(page, { file, state, theme });
    }
  console.log(`The pictures are in .artefacts/shots.`);
} finally {
  await closeBrowser(browser);
  await served.close();
}
