/** Tests the page of `turnstream dev` in Chromium: what it contains, the first answer, and a change of the agent. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { en } from "@turnstream/react";
import { makeFolder, removeFolder } from "@turnstream/testkit/processes/watch.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { AgentFolder, agentSource, CliProcess } from "../../packages/cli/test/cli-process.ts";
import { buildPage } from "./build-page.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { openWatchedPage } from "./open-watched-page.ts";

const root = join(import.meta.dirname, "../..");
const CANARY = "a-variable-of-the-build";

let browser: Browser | undefined;
let page: string;

beforeAll(async () => {
  page = await makeFolder("dev-page");
  vi.stubEnv("VITE_CANARY", CANARY);
  await buildPage(join(root, "packages/cli/page"), page);
  vi.unstubAllEnvs();
  browser = await openBrowser();
});

afterAll(async () => {
  await closeBrowser(browser);
  removeFolder(page);
});

async function send(tab: Page, text: string): Promise<void> {
  const composer = tab.getByRole("textbox", { name: en.thread.message });
  await composer.fill(text);
  await composer.press("Enter");
}

test("the page contains no variable and no path of the machine that built it", () => {
  const files = globSync("**/*.*", { cwd: page }).map((file) => readFileSync(join(page, file), "utf8"));
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((text) => text.includes(CANARY) || text.includes(root))).toEqual([]);
});

// `npm run bench -- first-hour` measures how long both take.
test("answers in the page, and a changed agent answers the next message", async () => {
  if (browser === undefined) throw new Error("the browser is open");
  const folder = await AgentFolder.create({ "agent.ts": agentSource("`You wrote: ${text}`") });
  const tab = await openWatchedPage(browser, { viewport: { width: 1000, height: 700 } });
  const cli = new CliProcess(folder.path, ["dev", "--json", "--port", "0", "--page", page]);
  onTestFinished(() => {
    cli.kill();
    folder.remove();
  });
  await tab.goto(String((await cli.ready())["url"]));
  await send(tab, "hello");
  await tab.locator(".ts-text").getByText("You wrote: hello").waitFor();

  const session = new URL(tab.url()).searchParams.get("session");
  folder.write({ "agent.ts": agentSource("`New: ${text}`") });
  await expect.poll(() => cli.err, { interval: 10 }).toContain("agent.ts changed");
  await send(tab, "again");
  await tab.locator(".ts-text").getByText("New: again").waitFor();
  expect(await tab.locator(".ts-text").getByText("You wrote: hello").isVisible()).toBe(true);
  expect(new URL(tab.url()).searchParams.get("session")).toBe(session);
  const list = tab.getByRole("navigation", { name: en.chat.sessions });
  expect(await list.getByRole("listitem").count()).toBe(1);
  await tab.close();
  expect(await cli.stop("SIGINT")).toBe(0);
});
