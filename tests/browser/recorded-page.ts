/**
 * `openRecorded` opens the page of recorded sessions in Chromium for one test. Every error or warning in its console
 * fails the test.
 */
import type { SessionEvent } from "@turnstream/protocol";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { openWatchedPage } from "./open-watched-page.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { pageUrl } from "./pages.ts";

let browser: Browser | undefined;

/** Opens a browser for the test file. Call it once, before the tests. */
export function withRecordedPages(): void {
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => await closeBrowser(browser));
}

const DEFAULT_SIZE = { width: 900, height: 700 };

export async function openRecorded(size = DEFAULT_SIZE): Promise<Page> {
  return await open(size, "/");
}

/**
 * Opens the page with `highlight()`, `math()` and `mermaid()`. The policy of the frame of Mermaid blocks what a hostile
 * diagram wants to load, which the browser reports.
 */
export async function openRecordedWithPlugins(): Promise<Page> {
  // The browser reports what the frame of Mermaid refuses.
  return await open(DEFAULT_SIZE, "/?plugins", /Content Security Policy|@import rules are not allowed/);
}

async function open(
  size: { readonly width: number; readonly height: number },
  path: string,
  expected?: RegExp,
): Promise<Page> {
  if (browser === undefined) throw new Error("call withRecordedPages() first");
  const page = await openWatchedPage(browser, { viewport: size }, expected);
  await page.goto(`${pageUrl("recorded")}${path}`);
  await page.waitForFunction(() => window.recorded !== undefined);
  return page;
}

export async function start(page: Page, events: readonly SessionEvent[], html?: string): Promise<void> {
  // Passed as text, because playwright's types for arguments are too deep for events.
  const log = JSON.stringify(events);
  await page.evaluate(
    ([text, markup]) => window.recorded?.start(JSON.parse(text) as SessionEvent[], markup ?? undefined),
    [log, html ?? null] as const,
  );
  await page.waitForSelector(".ts-thread");
}

/** Folds events in, and waits until the page is rendered. */
export async function append(page: Page, events: readonly SessionEvent[]): Promise<void> {
  await page.evaluate(async (more) => {
    window.recorded?.append(JSON.parse(more) as SessionEvent[]);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  }, JSON.stringify(events));
}

/** Waits until lazy parts are rendered. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(async () => await window.recorded?.preload());
  const drawn = async () => await page.evaluate(() => Object.keys(window.recorded?.drawn() ?? {}));
  await expect.poll(drawn, { interval: 100 }).toEqual([]);
}
