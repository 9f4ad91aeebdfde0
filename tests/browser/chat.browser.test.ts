/**
 * Tests a whole chat against a real gateway on its own origin: sign-in, the list of sessions, the route, and a new
 * session that is created with its first message.
 */
import { en } from "@turnstream/react";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { answerTo } from "./agents.ts";
import { keepArtefacts, readConsole } from "./artefacts.ts";
import { BrowserSession } from "./browser-session.ts";
import { type ChatSite, startChatSite } from "./chat-site.ts";

const TIMEOUT_MS = 60_000;
const WIDE = { width: 1100, height: 800 };

let browserSession: BrowserSession;
let site: ChatSite;

beforeAll(async () => {
  browserSession = await BrowserSession.open();
}, 120_000);

afterAll(async () => {
  await browserSession?.close();
});

// Each test has a user of its own, so that it lists only its own sessions.
let user = 0;
const actor = () => ({ ...browserSession.harness.actor, user: `user-${user}` });

beforeEach(async () => {
  user++;
  site = await startChatSite(browserSession.environment.backend, actor());
  onTestFinished(() => site.close());
});

interface OpenOptions {
  readonly path?: string;
  readonly isSignedIn?: boolean;
  readonly viewport?: typeof WIDE;
}

async function open({ path = "/", isSignedIn = true, viewport = WIDE }: OpenOptions = {}): Promise<Page> {
  const context = await browserSession.browser.newContext({ viewport });
  keepArtefacts(context);
  onTestFinished(() => context.close());
  if (isSignedIn) await context.addCookies([{ name: "user", value: "an", url: site.url }]);
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  await page.goto(`${site.url}${path}`);
  return page;
}

const list = (page: Page) => page.getByRole("navigation", { name: en.chat.sessions });
const rows = (page: Page) => list(page).getByRole("listitem");
const composer = (page: Page) => page.getByRole("textbox", { name: en.thread.message });
const isFocused = (field: Locator) => field.evaluate((element) => element === document.activeElement);
const newButton = (page: Page) => list(page).getByRole("button", { name: en.chat.newSession, exact: true });
const openSession = (page: Page) => new URL(page.url()).searchParams.get("session");

/** Returns the ids of the user's sessions, from the store. */
async function storedSessions(): Promise<string[]> {
  const { store } = browserSession.environment.backend;
  const { sessions } = await store.sessions.list(actor(), { limit: 50 });
  return sessions.map(({ id }) => id);
}

async function send(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

async function reads(page: Page, text: string): Promise<void> {
  await page.locator(".ts-text").getByText(answerTo(text)).waitFor();
}

/** Writes in a new session, and returns its id once it is answered. */
async function startSession(page: Page, text: string): Promise<string> {
  await newButton(page).click();
  await send(page, text);
  await reads(page, text);
  return openSession(page) ?? "";
}

test("a new session is created with its first message, and a reload shows it again", async () => {
  const page = await open({ path: "/?theme=none" });
  await list(page).getByText(en.chat.noSessions).waitFor();
  await newButton(page).click();
  expect([await storedSessions(), openSession(page)]).toEqual([[], null]);
  await send(page, "east");
  // The composer is the same one, so the user can continue to write.
  await page.keyboard.insertText("and west");
  await reads(page, "east");
  const sessions = await storedSessions();
  expect(sessions).toEqual([openSession(page)]);
  expect(new URL(page.url()).searchParams.get("theme")).toBe("none");
  expect(await composer(page).inputValue()).toBe("and west");
  expect(await isFocused(composer(page))).toBe(true);
  expect(await rows(page).getByRole("link").getAttribute("aria-current")).toBe("page");
  await page.reload();
  await reads(page, "east");
  expect(await storedSessions()).toEqual(sessions);
  expect(readConsole(page).filter((line) => /^(error|warning|thrown)/.test(line))).toEqual([]);
});

test("the back and forward buttons open the sessions again, and a row is a link", async () => {
  const page = await open();
  const first = await startSession(page, "one");
  await newButton(page).click();
  await page.getByRole("button", { name: "north" }).click();
  await expect.poll(() => composer(page).inputValue()).toBe("north");
  await expect.poll(() => isFocused(composer(page))).toBe(true);
  await page.keyboard.press("Enter");
  await expect.poll(() => composer(page).inputValue()).toBe("");
  await reads(page, "north");
  const second = openSession(page);
  expect(await storedSessions()).toEqual([second, first]);
  await page.goBack();
  await reads(page, "one");
  expect(openSession(page)).toBe(first);
  await page.goForward();
  await reads(page, "north");
  expect(openSession(page)).toBe(second);
  const link = rows(page).nth(1).getByRole("link");
  expect(await link.getAttribute("href")).toBe(`/?session=${first}`);
  await link.click();
  await reads(page, "one");
});

test("sessions are renamed and deleted with the keyboard, and other tabs follow", async () => {
  const page = await open();
  const first = await startSession(page, "one");
  await startSession(page, "two");
  const other = await page.context().newPage();
  other.setDefaultTimeout(TIMEOUT_MS);
  await other.goto(site.url);
  await expect.poll(() => rows(other).count()).toBe(2);
  const row = page.locator(`[data-session="${first}"]`);
  await row.getByRole("link").focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: en.chat.newTitle }).fill("A walk");
  await page.keyboard.press("Enter");
  await rows(page).first().getByRole("link", { name: "A walk" }).waitFor();
  await list(page).getByText(en.chat.renamed).waitFor();
  await expect.poll(() => row.getByRole("link").evaluate((one) => one === document.activeElement)).toBe(true);
  // A tab in the background reloads its list when it is shown.
  await other.bringToFront();
  await rows(other).getByRole("link", { name: "A walk" }).waitFor();
  await page.bringToFront();
  await row.getByRole("link").click();
  await reads(page, "one");
  // The chat focuses the field in the next frame. Later it would take the focus from the form.
  await expect.poll(() => isFocused(composer(page))).toBe(true);
  const remove = row.getByRole("button", { name: en.chat.delete("A walk") });
  await remove.press("Enter");
  await page.keyboard.press("Escape");
  expect(await storedSessions()).toHaveLength(2);
  await remove.press("Enter");
  await page.keyboard.press("Enter");
  await row.waitFor({ state: "detached" });
  expect((await storedSessions()).includes(first)).toBe(false);
  await expect.poll(() => openSession(page)).toBeNull();
  expect(await newButton(page).evaluate((button) => button === document.activeElement)).toBe(true);
});

test("what the user writes survives a reload, in a new session and in each other one, until it is sent", async () => {
  const page = await open();
  await startSession(page, "one");
  await composer(page).fill("in the first");
  await newButton(page).click();
  expect(await composer(page).inputValue()).toBe("");
  await composer(page).fill("in the new one");
  await page.reload();
  await expect.poll(() => composer(page).inputValue()).toBe("in the new one");
  await rows(page).getByRole("link").click();
  await expect.poll(() => composer(page).inputValue()).toBe("in the first");
  await newButton(page).click();
  await expect.poll(() => composer(page).inputValue()).toBe("in the new one");
  await composer(page).press("Enter");
  await reads(page, "in the new one");
  await page.reload();
  await reads(page, "in the new one");
  expect(await composer(page).inputValue()).toBe("");
  await newButton(page).click();
  expect(await composer(page).inputValue()).toBe("");
  await rows(page).nth(1).getByRole("link").click();
  await expect.poll(() => composer(page).inputValue()).toBe("in the first");
});

test("the user chooses the agent if there are several, and the session proposes the last one", async () => {
  const page = await open({ path: "/?agent=" });
  const picker = page.getByRole("combobox");
  await expect.poll(() => picker.getByRole("option").allTextContents()).toEqual(["Asking", "Long answer"]);
  await picker.selectOption("long-answer");
  await send(page, "north");
  await reads(page, "north");
  await page.reload();
  await reads(page, "north");
  await expect.poll(() => picker.inputValue()).toBe("long-answer");
  await picker.selectOption("asking");
  await send(page, "anything");
  await page.locator(".ts-text").getByText("All of it is done.").waitFor();
});

test("files are dropped anywhere on the thread, and a paste of files attaches them", async () => {
  const page = await open({ path: "/?accept=image/*" });
  await composer(page).waitFor();
  const give = (selector: string, type: "drop" | "paste", names: readonly string[]) =>
    page.locator(selector).evaluate(
      (element, [kind, files]) => {
        const data = new DataTransfer();
        // A red dot, so that it is a picture.
        const gif = Uint8Array.from(atob("R0lGODlhAQABAPAAAP8AAAAAACwAAAAAAQABAAACAkQBADs="), (c) =>
          c.charCodeAt(0),
        );
        for (const name of files)
          data.items.add(new File([gif], name, { type: name.endsWith(".gif") ? "image/gif" : "" }));
        const init = { bubbles: true, cancelable: true };
        const event =
          kind === "drop"
            ? new DragEvent(kind, { ...init, dataTransfer: data })
            : new ClipboardEvent(kind, { ...init, clipboardData: data });
        return !element.dispatchEvent(event);
      },
      [type, names] as const,
    );
  expect(await give(".ts-welcome", "drop", ["dropped.gif", "song.mp3"])).toBe(true);
  const files = page.getByRole("list", { name: en.thread.files }).getByRole("listitem");
  await expect.poll(() => files.allTextContents()).toHaveLength(1);
  await page.getByRole("alert").filter({ hasText: "song.mp3" }).waitFor();
  expect(await give(".ts-composer-text", "paste", ["pasted.gif"])).toBe(true);
  await expect.poll(async () => (await files.allTextContents()).join()).toMatch(/dropped\.gif.*pasted\.gif/);
  expect(await page.getByRole("alert").filter({ hasText: "song.mp3" }).count()).toBe(0);
  // Thumbnails show the files themselves.
  await expect
    .poll(() =>
      files.locator("img").evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth)),
    )
    .toEqual([1, 1]);
});

test("a user who is signed out sees that, without retries, and continues after the sign-in", async () => {
  const page = await open({ isSignedIn: false });
  await page.getByText(en.chat.signedOut).waitFor();
  await page.clock.install();
  await page.reload();
  await page.getByText(en.chat.signedOut).waitFor();
  // A client that retries would ask again within this time.
  await page.clock.runFor(60_000);
  expect(await composer(page).count()).toBe(0);
  await page.context().addCookies([{ name: "user", value: "an", url: site.url }]);
  await page.getByRole("button", { name: en.thread.tryAgain }).click();
  await startSession(page, "back");
  expect(site.signIns()).toBe(3);
});

test("a session that does not exist is reported, and the user can start a new one", async () => {
  const page = await open({ path: "/?session=missing" });
  await page.getByText(en.chat.missing).waitFor();
  await expect.poll(() => openSession(page)).toBeNull();
  await startSession(page, "again");
  await page.getByText(en.chat.missing).waitFor({ state: "detached" });
});

test("in a narrow window the list is a drawer", async () => {
  const page = await open({ viewport: { width: 390, height: 700 } });
  const menu = page.getByRole("button", { name: en.chat.openList });
  await menu.waitFor();
  expect(await newButton(page).isVisible()).toBe(false);
  await menu.click();
  await newButton(page).waitFor();
  expect(await page.locator(".ts-chat-side :focus").count()).toBe(1);
  await page.keyboard.press("Escape");
  await expect.poll(() => menu.evaluate((button) => button === document.activeElement)).toBe(true);
  expect(await newButton(page).isVisible()).toBe(false);
  await send(page, "small");
  await reads(page, "small");
  await menu.click();
  await rows(page).getByRole("link").click();
  await expect.poll(() => newButton(page).isVisible()).toBe(false);
  // A window that becomes wide shows both, and both can be used.
  await menu.click();
  await page.setViewportSize(WIDE);
  await composer(page).click();
  expect(await newButton(page).isVisible()).toBe(true);
});
