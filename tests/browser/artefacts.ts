/**
 * `keepArtefacts` writes a picture, the HTML and the console of every open page to `.artefacts/` when a test fails. It
 * writes nothing for a test that passed.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { onTestFailed } from "vitest";

const FOLDER = join(import.meta.dirname, "../../.artefacts");
const PICTURE_MS = 5_000;

const consoleLines = new WeakMap<Page, string[]>();

/** Records the console of a context's pages, and writes the artefacts if the current test fails. */
export function keepArtefacts(context: BrowserContext): void {
  context.on("page", listen);
  context.pages().forEach(listen);
  onTestFailed(async ({ task }) => {
    const name = task.name.replaceAll(/[^\p{L}\p{N}]+/gu, "-").slice(0, 80);
    for (const [n, page] of context.pages().entries()) await write(page, `failed-${name}-${n}`);
  });
}

/** Returns the console messages and uncaught errors of a page. */
export function readConsole(page: Page): readonly string[] {
  return consoleLines.get(page) ?? [];
}

function listen(page: Page): void {
  // One page can be used in several tests.
  if (consoleLines.has(page)) return;
  const lines: string[] = [];
  consoleLines.set(page, lines);
  page.on("console", (message) => lines.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => lines.push(`thrown: ${error.stack ?? error.message}`));
}

async function write(page: Page, name: string): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const file = (ending: string) => join(FOLDER, `${name}.${ending}`);
  writeFileSync(file("txt"), readConsole(page).join("\n"));
  // A page that hangs must not prevent the artefacts of the others.
  await page.screenshot({ path: file("png"), timeout: PICTURE_MS }).catch(() => undefined);
  const html = await Promise.race([page.content().catch(String), late()]);
  writeFileSync(file("html"), html);
}

function late(): Promise<string> {
  return new Promise((resolve) => setTimeout(() => resolve("the page did not answer"), PICTURE_MS));
}
