/** The browser that the tests look through: Debian's Chromium. A missing one fails the run; a hung one can't hang it. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const CANDIDATES = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser"];
const START_MS = 60_000;
const CLOSE_MS = 10_000;

export async function openBrowser(): Promise<Browser> {
  const executablePath = CANDIDATES.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined)
    throw new Error("No Chromium found. Install it (apt-get install chromium), or name it by CHROMIUM.");
  return await chromium.launch({
    executablePath,
    timeout: START_MS,
    // Pages in the background run as those in front do: which of them a machine calls hidden is chance.
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--disable-background-timer-throttling",
      "--disable-renderer-backgrounding",
      "--disable-backgrounding-occluded-windows",
    ],
  });
}

/** Playwright kills the browser when this process ends, so one that doesn't answer is left to that. */
export async function closeBrowser(browser: Browser | undefined): Promise<void> {
  if (browser === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS);
  });
  await Promise.race([browser.close(), late]);
  clearTimeout(timer);
}
