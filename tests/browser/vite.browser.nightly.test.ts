/**
 * Tests a Vite app with Tailwind 4 that is built from the packed packages and served below a path prefix, in Chromium:
 * its types, its styles, its chunks, and what a user does.
 */
import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import { en } from "@turnstream/react";
import { makeFolder, removeFolder } from "@turnstream/testkit/processes/watch.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { openWatchedPage } from "./open-watched-page.ts";
import { installPacked } from "./packed-packages.ts";
import { type ServedFolder, serveFolder } from "./serve-folder.ts";

/** Includes the installation, which npm may have to download. */
const BUILD_MS = 600_000;

let browser: Browser;
let folder: string;
let served: ServedFolder;

async function build(): Promise<void> {
  folder = await makeFolder("vite-app");
  await cp(join(import.meta.dirname, "vite-app"), folder, { recursive: true });
  const env = { ...process.env, NODE_ENV: "production" };
  await installPacked(folder, env);
  for (const args of [["node_modules/typescript/bin/tsc"], ["node_modules/vite/bin/vite.js", "build"]])
    await promisify(execFile)(process.execPath, args, { cwd: folder, env });
  served = await serveFolder(join(folder, "served"));
}

beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), build()]);
}, BUILD_MS);

afterAll(async () => {
  await closeBrowser(browser);
  await served?.close();
  removeFolder(folder);
});

/** A turn with code and an approval that waits. */
function createLog(): Story {
  const log = new Story({ check: false }).session("ses_vite", 1).begin("Order it.");
  log.text(["```ts\nlet a = 1;\n```\n"], {});
  const call = log.call("place_order", ['{"count":1}'], { label: "Placing the order" });
  log.add({
    type: "approval.request",
    ...log.place(),
    key: "k",
    call,
    actions: [{ name: "place_order", label: "Place the order", input: { count: 1 } }],
    editable: false,
    digest: "d",
  });
  return log;
}

async function open(): Promise<{ readonly page: Page; readonly missing: string[] }> {
  const page = await openWatchedPage(browser, {
    viewport: { width: 900, height: 700 },
    colorScheme: "light",
  });
  const missing: string[] = [];
  page.on("response", (response) => {
    if (!response.ok()) missing.push(response.url());
  });
  const events = JSON.stringify(createLog().events);
  await page.addInitScript(`window.commands = []; window.recordedEvents = ${events};`);
  await page.goto(`${served.url}/chat/`);
  return { page, missing };
}

async function read(page: Page, selector: string, names: readonly string[]): Promise<string[]> {
  return await page
    .locator(selector)
    .first()
    .evaluate(
      (element, keys) => keys.map((key) => getComputedStyle(element).getPropertyValue(key)),
      [...names],
    );
}

describe("a Vite app with Tailwind 4", () => {
  test("chunks load below the prefix, code is colored, and the user approves", async () => {
    const { page, missing } = await open();
    await page.locator(".ts-hl-keyword").waitFor();
    await page.getByRole("button", { name: en.cards.approve, exact: true }).click();
    await expect
      .poll(() => page.evaluate(() => (window as unknown as { commands: string[] }).commands))
      .toHaveLength(1);
    expect(missing).toEqual([]);
  });

  test("the reset of Tailwind changes no control, and the thread fits below the header", async () => {
    const { page } = await open();
    const approve = page.getByRole("button", { name: en.cards.approve, exact: true });
    await approve.waitFor();
    const [padding = "", border, radius] = await read(page, ".ts-card .ts-primary", [
      "padding-inline-start",
      "border-top-style",
      "border-top-left-radius",
    ]);
    expect([Number.parseFloat(padding) > 4, border, radius]).toEqual([true, "solid", "8px"]);
    const bottom = await page
      .locator(".ts-composer")
      .evaluate((element) => element.getBoundingClientRect().bottom);
    expect(bottom).toBeLessThanOrEqual(700);
  });

  test("the class dark changes the theme, and a utility overrides a part", async () => {
    const { page } = await open();
    await page.locator(".ts-hl-keyword").waitFor();
    expect(await read(page, ".ts-thread", ["background-color"])).toEqual(["rgb(251, 250, 248)"]);
    await page.evaluate(() => document.documentElement.classList.add("dark"));
    expect(await read(page, ".ts-thread", ["background-color"])).toEqual(["rgb(23, 22, 20)"]);
    await page.locator(".ts-composer").evaluate((element) => element.classList.add("p-4"));
    expect(await read(page, ".ts-composer", ["padding-top"])).toEqual(["16px"]);
  });
});
