/** `openStage` opens the stage in Chromium for the gallery's tests. */
import { closeBrowser, openBrowser } from "@turnstream/browser/chromium.ts";
import { openWatchedPage } from "@turnstream/browser/open-watched-page.ts";
import { pageUrl } from "@turnstream/browser/pages.ts";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { type Address, writeAddress } from "./stage/address.ts";

let browser: Browser | undefined;

/** Opens a browser for the test file. Call it once, before the tests. */
export function withBrowser(): void {
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => await closeBrowser(browser));
}

interface StageOptions extends BrowserContextOptions {
  readonly address?: Partial<Address>;
  /** Called before the page is loaded. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const ANYWHERE: Address = {
  state: "text/done",
  at: null,
  width: null,
  locale: "en",
  theme: "light",
  dir: "ltr",
};

/** Opens a page for one test. Every error or warning in its console fails the test. */
export async function openStage({ address, prepare, ...options }: StageOptions = {}): Promise<Page> {
  if (browser === undefined) throw new Error("call withBrowser() first");
  const page = await openWatchedPage(browser, { viewport: { width: 900, height: 900 }, ...options });
  await prepare?.(page);
  await page.goto(`${pageUrl("gallery")}/stage.html${writeAddress({ ...ANYWHERE, ...address })}`);
  await page.waitForSelector("html[data-ready]");
  return page;
}

export async function show(page: Page, name: string, at?: number): Promise<void> {
  await page.evaluate(async ([state, place]) => await window.gallery?.show(state, place), [
    name,
    at,
  ] as const);
}

export async function move(page: Page, at: number): Promise<void> {
  await page.evaluate(async (place) => await window.gallery?.move(place), at);
}

/** Returns the number of events up to and including the nth of a type, in the shown log. */
export async function findEvent(page: Page, type: string, nth = 1): Promise<number> {
  const types = await page.evaluate(() => window.gallery?.events.map((event) => event.type) ?? []);
  const places = types.flatMap((one, n) => (one === type ? [n + 1] : []));
  const place = places[nth - 1];
  if (place === undefined) throw new Error(`the log has no ${type} number ${nth}`);
  return place;
}

export async function stateNames(page: Page): Promise<readonly string[]> {
  return await page.evaluate(() => window.gallery?.states ?? []);
}

/** Waits until the page has not changed for a while: lazy parts are loaded and animations have ended. */
export async function still(page: Page, idleMs = 500): Promise<void> {
  await page.evaluate(
    async (limitMs) =>
      await new Promise<void>((resolve) => {
        let timer = setTimeout(done, limitMs);
        const observer = new MutationObserver(() => {
          clearTimeout(timer);
          timer = setTimeout(done, limitMs);
        });
        function done(): void {
          observer.disconnect();
          resolve();
        }
        observer.observe(document.body, {
          subtree: true,
          childList: true,
          attributes: true,
          characterData: true,
        });
      }),
    idleMs,
  );
}
