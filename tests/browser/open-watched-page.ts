/** `openWatchedPage` opens a page for one test. Every error or warning in its console fails the test, if it is not expected. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { keepArtefacts } from "./artefacts.ts";

/** @param expected messages that don't fail the test */
export async function openWatchedPage(
  browser: Browser,
  options: BrowserContextOptions,
  expected?: RegExp,
): Promise<Page> {
  const context = await browser.newContext(options);
  keepArtefacts(context);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    const isProblem = message.type() === "error" || message.type() === "warning";
    if (isProblem && expected?.test(message.text()) !== true) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  onTestFinished(async () => {
    await context.close();
    expect(complaints).toEqual([]);
  });
  return page;
}
