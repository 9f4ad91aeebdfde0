/** Tests in Chromium that a user shares a session, and that a reader opens the link and continues from it. */
import { en } from "@turnstream/react";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { ASKING } from "./agents.ts";
import { BrowserSession } from "./browser-session.ts";
import { readText } from "./screen.ts";
import { Tab } from "./tab.ts";

const { sharing } = en;

let browserSession: BrowserSession;

beforeAll(async () => {
  browserSession = await BrowserSession.open();
});

afterEach(async () => {
  for (const context of browserSession.browser.contexts()) await context.close();
});

afterAll(async () => {
  await browserSession?.close();
});

/** Opens a new session of the owner with an answered message and a button to share it. */
async function openOwner(): Promise<{ tab: Tab; session: string }> {
  const { session } = await browserSession.createSession();
  const context = await browserSession.openContext();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { url } = browserSession.environment;
  const tab = await Tab.open(context, { url, session, agent: ASKING, more: { sharing: "1" } });
  await tab.live();
  await tab.send("Is the ridge path open?");
  await tab.reads("All of it is done.");
  return { tab, session };
}

/** Opens the page of a link for another user of the same tenant. */
async function openReader(link: string): Promise<Page> {
  const { environment, harness, browser } = browserSession;
  const page = await (await environment.openContext(browser, { ...harness.actor, user: "reader" })).newPage();
  await page.goto(link);
  return page;
}

async function hasFocusInDialog({ page }: Tab): Promise<boolean> {
  return await page.evaluate(() => document.activeElement?.closest("dialog") !== null);
}

test("U12 a user shares by keyboard, and a reader continues in an own conversation", async () => {
  const { tab } = await openOwner();
  const { page } = tab;
  await page.getByRole("button", { name: "Share", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: sharing.title }).waitFor();
  await page.getByText(sharing.noLinks).waitFor();
  // The focus stays in the dialog, in both directions.
  for (const key of ["Tab", "Shift+Tab"])
    for (let n = 0; n < 8; n++) {
      await page.keyboard.press(key);
      expect(await hasFocusInDialog(tab), `${key} ${n}`).toBe(true);
    }
  await page.getByLabel(sharing.expiry).selectOption(sharing.expiryChoices.day);
  await page.getByRole("button", { name: sharing.create }).focus();
  await page.keyboard.press("Enter");
  // The new link has the focus, so the next press copies it.
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute("data-action")))
    .toBe("copy");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: sharing.copied }).waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link).toBe(await page.getByLabel(sharing.link, { exact: true }).inputValue());
  await expect.poll(() => page.locator("dialog [role=status]").textContent()).toBe(sharing.copied);
  await page.keyboard.press("Escape");
  await expect.poll(() => page.locator("dialog").count()).toBe(0);
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Share");
  await tab.send("And what about tomorrow?");
  await tab.reads("And what about tomorrow?");
  await tab.until("both answers", ({ turns }) => turns.join(" ") === "end_turn end_turn");

  const reader = await openReader(link);
  await reader.getByText("All of it is done.").waitFor();
  expect(await readText(reader)).not.toContain("tomorrow");
  expect(await reader.locator(".ts-composer").count()).toBe(0);
  await reader.getByRole("button", { name: sharing.continueOwn }).click();
  await reader.locator(".ts-composer").waitFor();
  await reader.getByText("Is the ridge path open?").waitFor();
  for (const text of ["mine", "mine again"]) {
    await reader.locator(".ts-composer textarea").fill(text);
    await reader.keyboard.press("Enter");
    await expect
      .poll(
        () =>
          reader.evaluate(() => {
            const last = window.turnstream?.session.getSnapshot().state.turns.last();
            return last?.status === "end_turn" ? last.message?.text : null;
          }),
        { timeout: 60_000 },
      )
      .toBe(text);
  }
  const flags = await reader.evaluate(() =>
    window.turnstream?.session
      .getSnapshot()
      .state.turns.toArray()
      .map((turn) => turn.from_share),
  );
  expect(flags).toEqual([false, true, false]);
  // The owner's session has nothing of it.
  expect(await readText(page)).not.toContain("mine");
});

test("U12 a link is revoked with a second press, and then shows why it doesn't work", async () => {
  const { tab } = await openOwner();
  const { page } = tab;
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByRole("button", { name: sharing.create }).click();
  const link = await page.getByLabel(sharing.link, { exact: true }).inputValue();
  const sent: Record<string, string>[] = [];
  // A reader who is not signed in.
  const reader = await (await browserSession.browser.newContext()).newPage();
  reader.on("request", (request) => {
    if (request.url().includes("/shares/")) sent.push(request.headers());
  });
  await reader.goto(link);
  await reader.getByText("All of it is done.").waitFor();
  expect(sent.length).toBeGreaterThan(0);
  for (const headers of sent) expect(headers["authorization"]).toBeUndefined();

  await page.getByRole("button", { name: sharing.revoke, exact: true }).click();
  await page.getByRole("button", { name: sharing.cancel }).click();
  expect(await page.getByLabel(sharing.link, { exact: true }).count()).toBe(1);
  await page.getByRole("button", { name: sharing.revoke, exact: true }).click();
  await page.getByRole("button", { name: sharing.revokeConfirm }).click();
  await page.getByText(sharing.noLinks).waitFor();
  expect(await hasFocusInDialog(tab)).toBe(true);
  await reader.reload();
  await expect.poll(() => reader.getByRole("alert").textContent()).toBe(sharing.notFound);
});
