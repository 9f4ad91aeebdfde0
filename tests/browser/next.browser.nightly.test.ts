/**
 * Tests a Next.js app that is built from the template and the packed packages, in Chromium and over event streams. The
 * server of Next.js runs the turns itself, or a worker in another process does.
 */
import { en } from "@turnstream/react";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { keepArtefacts, readConsole } from "./artefacts.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { type AppProcess, NextApp } from "./next-app.ts";

const TIMEOUT_MS = 60_000;
/** Includes the installation of Next.js, which npm may have to download. */
const BUILD_MS = 600_000;

const bothHalves = (text: string) => [`First half of ${text}.`, `Second half of ${text}.`];

let app: NextApp;
let browser: Browser;

beforeAll(async () => {
  [app, browser] = await Promise.all([NextApp.build(), openBrowser()]);
}, BUILD_MS);

afterAll(async () => {
  await closeBrowser(browser);
  await app?.remove();
});

describe.each([
  ["in one process", true],
  ["with a worker in another process", false],
])("a Next.js app %s", (_name, runsTurns) => {
  let url: string;
  let env: Record<string, string>;
  let server: AppProcess;
  let context: BrowserContext;
  let page: Page;
  let sockets = 0;

  beforeAll(async () => {
    url = `http://127.0.0.1:${await freePort()}`;
    env = {
      DATABASE_URL: await migratedDatabaseUrl(),
      REDIS_URL: sharedRedisUrl(),
      TURNSTREAM_SECRET: "s".repeat(32),
      RUNS_TURNS: String(runsTurns),
    };
    if (!runsTurns) app.startWorker(env);
    server = await app.startServer(Number(new URL(url).port), env);
    context = await browser.newContext({ viewport: { width: 1100, height: 800 } });
    await context.addCookies([{ name: "user", value: "an", url }]);
    page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on("websocket", () => sockets++);
    await page.goto(url);
  }, 180_000);

  beforeEach(() => keepArtefacts(context));

  afterAll(async () => {
    await context?.close();
  });

  const composer = () => page.getByRole("textbox", { name: en.thread.message });
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const reads = (text: string) => page.locator(".ts-text").getByText(text).waitFor();

  async function send(text: string): Promise<void> {
    await composer().fill(text);
    await composer().press("Enter");
  }

  /** Sends a message and waits until the first half of its answer is shown. The second half waits for the gate. */
  async function readFirstHalf(text: string): Promise<void> {
    await app.closeGate();
    await send(text);
    await reads(`First half of ${text}.`);
  }

  /** Lets the answer end, and returns all of its texts. */
  async function readEnd(text: string): Promise<string[]> {
    await app.openGate();
    await reads(`Second half of ${text}.`);
    await page.locator(".ts-turn[data-running]").waitFor({ state: "detached" });
    return await page.locator(".ts-turn").last().locator(".ts-text").allInnerTexts();
  }

  test("the user approves, answers a question and submits a form", async () => {
    await send("approval");
    await button(en.cards.approve).click();
    await reads("Finished: approval.");
    await send("question");
    await page.getByRole("radio", { name: "Red" }).check();
    await button(en.cards.answer).click();
    await reads("Finished: question.");
    await send("form");
    await page.getByRole("textbox", { name: "Email" }).fill("an@example.com");
    await button(en.cards.submit).click();
    await reads("Finished: form.");
    const answers = ["Finished: approval.", "Finished: question.", "Finished: form."];
    expect(await page.locator(".ts-text").allInnerTexts()).toEqual(answers);
  });

  test("a reload in the middle of an answer continues it", async () => {
    await readFirstHalf("long 1");
    await page.reload();
    await reads("First half of long 1.");
    expect(await readEnd("long 1")).toEqual(bothHalves("long 1"));
  });

  test("the back button opens the previous conversation", async () => {
    const before = page.url();
    await button(en.chat.newSession).first().click();
    await page.locator(".ts-turn").first().waitFor({ state: "detached" });
    expect(page.url()).not.toBe(before);
    await page.goBack();
    await reads("Second half of long 1.");
    expect(page.url()).toBe(before);
  });

  test("a page of a server component, in the class dark, with the API under a path prefix", async () => {
    const assistant = await context.newPage();
    assistant.setDefaultTimeout(TIMEOUT_MS);
    const paths: string[] = [];
    assistant.on("request", (request) => paths.push(new URL(request.url()).pathname));
    const html = await (await context.request.get(`${url}/assistant`)).text();
    expect(html).toContain("Hello, an.");
    await assistant.goto(`${url}/assistant`);
    const text = assistant.getByRole("textbox", { name: en.thread.message });
    await text.fill("code");
    await text.press("Enter");
    const keyword = assistant.locator(".ts-hl-keyword");
    await keyword.waitFor();
    expect(await assistant.locator(".ts-code code").innerText()).toBe("let a = 1;");
    const read = (selector: string, name: string) =>
      assistant
        .locator(selector)
        .first()
        .evaluate((element, key) => getComputedStyle(element).getPropertyValue(key), name);
    expect(await read(".ts-thread", "background-color")).toBe("rgb(23, 22, 20)");
    expect(await read(".ts-hl-keyword", "color")).toBe("rgb(216, 161, 232)");
    expect(paths.filter((path) => path.includes("/api/v1/"))).not.toEqual([]);
    expect(paths.filter((path) => path.startsWith("/api/v1/"))).toEqual([]);
    expect(readConsole(assistant).filter((line) => line.startsWith("thrown"))).toEqual([]);
    await assistant.close();
  });

  test("SIGTERM in the middle of an answer ends the server in order, and the page continues after its restart", async () => {
    await readFirstHalf("long 2");
    // The code with which Next.js reports the signal.
    expect(await server.end("SIGTERM")).toBe(143);
    server = await app.startServer(Number(new URL(url).port), env);
    expect(await readEnd("long 2")).toEqual(bothHalves("long 2"));
  });

  test("a session that the server renders is in the HTML, and continues without a warning or a second request", async () => {
    await readFirstHalf("long 3");
    const id = new URL(page.url()).searchParams.get("session") ?? "";
    const address = `${url}/live/${id}`;
    const html = await (await context.request.get(address)).text();
    expect(html).toContain("First half of long 3.");
    expect(html).not.toContain("Second half of long 3.");
    const live = await context.newPage();
    const requests: string[] = [];
    const warnings: string[] = [];
    live.on("request", (request) => requests.push(request.url()));
    live.on("console", (message) => {
      if (["warning", "error"].includes(message.type())) warnings.push(message.text());
    });
    live.on("pageerror", (error) => warnings.push(String(error)));
    await live.goto(address);
    await live.locator(".ts-text").getByText("First half of long 3.").waitFor();
    await expect.poll(() => requests.filter((each) => each.includes("/events?")).length).toBe(1);
    await app.openGate();
    await live.locator(".ts-text").getByText("Second half of long 3.").waitFor();
    await live.locator(".ts-turn[data-running]").waitFor({ state: "detached" });
    const last = live.locator(".ts-turn").last().locator(".ts-text");
    expect(await last.allInnerTexts()).toEqual(bothHalves("long 3"));
    expect(requests.filter((each) => each.includes("/snapshot"))).toEqual([]);
    expect(warnings).toEqual([]);
    await live.close();
    await readEnd("long 3");
  });

  test("streams are not compressed, no socket was tried, and a closed page leaves no stream", async () => {
    const [response] = await Promise.all([
      page.waitForResponse((each) => /\/events\?/.test(each.url())),
      page.reload(),
    ]);
    await reads("Second half of long 3.");
    expect(response.headers()).toMatchObject({ "content-type": "text/event-stream; charset=utf-8" });
    expect(response.headers()).not.toHaveProperty("content-encoding");
    expect(sockets).toBe(0);
    expect(readConsole(page).filter((line) => line.startsWith("thrown"))).toEqual([]);
    expect(await countStreams(url)).toBe(1);
    await page.close();
    await expect.poll(() => countStreams(url)).toBe(0);
  });
});

async function countStreams(url: string): Promise<number> {
  const stats = (await (await fetch(`${url}/stats`)).json()) as { readonly connections: number };
  return stats.connections;
}
