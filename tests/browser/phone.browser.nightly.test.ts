/** Tests a whole chat on a phone: a touch screen of 390 pixels, without a mouse and without a real keyboard. */
import { en } from "@turnstream/react";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { answerTo } from "./agents.ts";
import { keepArtefacts } from "./artefacts.ts";
import { BrowserSession } from "./browser-session.ts";
import { type ChatSite, startChatSite } from "./chat-site.ts";

const TIMEOUT_MS = 60_000;
const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true };
/** The size of a finger, in pixels. */
const FINGER = 44;

let browserSession: BrowserSession;
let site: ChatSite;

beforeAll(async () => {
  browserSession = await BrowserSession.open();
}, 120_000);

afterAll(async () => {
  await browserSession?.close();
});

let user = 0;

beforeEach(async () => {
  user++;
  const actor = { ...browserSession.harness.actor, user: `phone-${user}` };
  site = await startChatSite(browserSession.environment.backend, actor);
  onTestFinished(() => site.close());
});

async function open(path = "/"): Promise<Page> {
  const context = await browserSession.browser.newContext(PHONE);
  keepArtefacts(context);
  onTestFinished(() => context.close());
  await context.addCookies([{ name: "user", value: "an", url: site.url }]);
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  await page.goto(`${site.url}${path}`);
  await field(page).waitFor();
  return page;
}

const field = (page: Page) => page.getByRole("textbox", { name: en.thread.message });
const sendButton = (page: Page) => page.getByRole("button", { name: en.thread.send, exact: true });
const bubble = (page: Page) => page.locator(".ts-bubble");

/** Chromium computes sizes of scrolled elements with a tiny error: 43.99997 instead of 44. */
const round = (pixels: number): number => Math.round(pixels * 100) / 100;

async function box(of: Locator) {
  const found = await of.boundingBox();
  if (found === null) throw new Error("the element is not visible");
  return { x: round(found.x), y: round(found.y), width: round(found.width), height: round(found.height) };
}

test("Enter starts a second line, and the button sends both", async () => {
  const page = await open();
  await field(page).tap();
  await expect.poll(() => field(page).evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.type("east");
  await page.keyboard.press("Enter");
  await page.keyboard.type("west");
  expect([await field(page).inputValue(), await bubble(page).count()]).toEqual(["east\nwest", 0]);
  await sendButton(page).tap();
  await page.locator(".ts-text").getByText(answerTo("east\nwest").slice(0, 20)).waitFor();
  expect(await bubble(page).innerText()).toBe("east\nwest");
  expect(await field(page).inputValue()).toBe("");
});

test("a refused file is named with the reason, and the message can be sent without it", async () => {
  const page = await open("/?accept=image/*,.pdf");
  const choose = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: en.thread.attach }).tap();
  await (await choose).setFiles({ name: "song.mp3", mimeType: "audio/mpeg", buffer: Buffer.from("-") });
  const alert = page.getByRole("alert").filter({ hasText: "song.mp3" });
  // Without the marks that isolate the name.
  const text = (await alert.innerText()).replaceAll(/[\u2068\u2069]/g, "");
  expect(text).toBe("Not added: song.mp3. Accepted types: images and PDF.");
  const { x, width } = await box(alert);
  expect(x >= 0 && x + width <= PHONE.viewport.width).toBe(true);
  await field(page).fill("alone");
  await sendButton(page).tap();
  await page.locator(".ts-text").getByText(answerTo("alone")).waitFor();
  expect(await alert.count()).toBe(0);
});

test("a suggestion fills the field, keeps what the user wrote, and sends nothing", async () => {
  const page = await open();
  await page.getByRole("button", { name: "north" }).tap();
  // The browser turns a touch into a click later.
  const text = () => field(page).inputValue();
  await expect.poll(text).toBe("north");
  expect(await field(page).evaluate((element) => element === document.activeElement)).toBe(true);
  await page.getByRole("button", { name: "south" }).tap();
  await expect.poll(text).toBe("south");
  await page.keyboard.type("-east");
  await page.getByRole("button", { name: "north" }).tap();
  await expect.poll(text).toBe("south-east\nnorth");
  expect(await bubble(page).count()).toBe(0);
});

test("an approval is reached and decided with a thumb", async () => {
  const page = await open("/?agent=asking");
  await field(page).fill("approval");
  await sendButton(page).tap();
  const approve = page.getByRole("button", { name: en.cards.approve, exact: true });
  await approve.waitFor();
  const { x, y, width, height } = await box(approve);
  const composerTop = (await box(page.locator(".ts-composer"))).y;
  expect(Math.min(width, height)).toBeGreaterThanOrEqual(FINGER);
  expect(x >= 0 && x + width <= PHONE.viewport.width && y + height <= composerTop).toBe(true);
  await approve.tap();
  await page.locator(".ts-text").getByText("All of it is done.").waitFor();
});

test("the composer is one row, and its buttons and those of the header have the size of a finger", async () => {
  const page = await open();
  const parts = [page.getByRole("button", { name: en.thread.attach }), field(page), sendButton(page)];
  const boxes = await Promise.all(parts.map(box));
  expect(new Set(boxes.map(({ y, height }) => Math.round(y + height))).size).toBe(1);
  // The field has most of the width, and nothing makes the page wider than the screen.
  expect(boxes[1]?.width).toBeGreaterThan(0.6 * PHONE.viewport.width);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.viewport.width);
  const menu = page.getByRole("button", { name: en.chat.openList });
  for (const { width, height } of [...boxes, await box(menu)]) {
    expect(width).toBeGreaterThanOrEqual(FINGER);
    expect(height).toBeGreaterThanOrEqual(FINGER);
  }
  const resume = browserSession.pauseAnswerAfter(3);
  onTestFinished(resume);
  await field(page).fill("slow");
  await sendButton(page).tap();
  const stop = page.getByRole("button", { name: en.thread.stop, exact: true });
  await stop.waitFor();
  expect((await box(stop)).width).toBeGreaterThanOrEqual(FINGER);
  await field(page).fill("and then");
  // Stop and Send stand side by side, and the field is still wide enough to write in.
  await sendButton(page).waitFor();
  expect((await box(field(page))).width).toBeGreaterThan(0.45 * PHONE.viewport.width);
  await menu.tap();
  const added = page.getByRole("button", { name: en.chat.newSession, exact: true });
  await added.waitFor();
  expect((await box(added)).height).toBeGreaterThanOrEqual(FINGER);
});
