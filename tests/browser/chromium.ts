/**
 * `openBrowser` starts Debian's Chromium for the tests. A missing browser fails the run, and `closeBrowser` never
 * hangs.
 */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** The headless shell is Chromium without windows. Its pages start faster and use about half of the processor time. */
const CANDIDATES = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
];
const START_MS = 60_000;
const CLOSE_MS = 10_000;

export async function openBrowser(): Promise<Browser> {
  const executablePath = CANDIDATES.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined)
    throw new Error(
      "No Chromium found. Install it (apt-get install chromium-headless-shell), or set CHROMIUM to its path.",
    );
  return await chromium.launch({
    executablePath,
    timeout: START_MS,
    // Background pages run like foreground ones. Otherwise it is random which of several pages is throttled.
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--disable-background-timer-throttling",
      "--disable-renderer-backgrounding",
      "--disable-backgrounding-occluded-windows",
      // If the machine stops the page during a smooth scroll, Playwright takes the position for the final one.
      "--disable-smooth-scrolling",
    ],
  });
}

/** Closes a browser, at most for `CLOSE_MS`. Playwright kills a browser that doesn't answer when this process ends. */
export async function closeBrowser(browser: Browser | undefined): Promise<void> {
  if (browser === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS);
  });
  await Promise.race([browser.close(), late]);
  clearTimeout(timer);
}
