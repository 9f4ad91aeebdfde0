/** The browser that the tests look through: Debian's Chromium. A missing one fails the run. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const CANDIDATES = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser"];

export async function openBrowser(): Promise<Browser> {
  const executablePath = CANDIDATES.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined)
    throw new Error("No Chromium found. Install it (apt-get install chromium), or name it by CHROMIUM.");
  return await chromium.launch({ executablePath, args: ["--no-sandbox"] });
}
