/** `withStage` opens the built stage in Chromium, and `takePicture` takes a picture of one of its states. */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildPage } from "@turnstream/browser/build-page.ts";
import { closeBrowser, openBrowser } from "@turnstream/browser/chromium.ts";
import { serveFolder } from "@turnstream/browser/serve-folder.ts";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

export const ARTEFACTS = join(import.meta.dirname, "../../.artefacts");
const LEAST = 160;
const MOST = 1600;

export interface Picture {
  readonly file: string;
  readonly state: string;
  readonly theme: "light" | "dark";
  readonly width: number;
}

interface Stage {
  readonly browser: Browser;
  /** Opens the stage on a page of its own. */
  readonly open: (options?: BrowserContextOptions) => Promise<Page>;
}

/** Builds the gallery, and runs `work` with a browser. */
export async function withStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  const site = join(ARTEFACTS, "site");
  await buildPage(import.meta.dirname, site);
  const served = await serveFolder(site);
  const browser = await openBrowser();
  try {
    await work({
      browser,
      async open(options) {
        const page = await browser.newPage({ reducedMotion: "reduce", deviceScaleFactor: 1, ...options });
        await page.goto(`${served.url}/stage.html`);
        await page.waitForSelector("html[data-ready]");
        return page;
      },
    });
  } finally {
    await closeBrowser(browser);
    await served.close();
  }
}

export async function readStates(page: Page): Promise<readonly string[]> {
  return await page.evaluate(() => window.gallery?.states ?? []);
}

/** The height follows the content, within limits. */
export async function takePicture(page: Page, { file, state, theme, width }: Picture): Promise<void> {
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
