/** Tests that a user can answer every card by keyboard alone. The tests never use the mouse. */
import { ASKING } from "./agents.ts";
import { en } from "@turnstream/react";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { BrowserSession } from "./browser-session.ts";
import { findCard } from "./story/cards.ts";
import type { Tab } from "./tab.ts";

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

const { cards: strings } = en;
const MOST_STOPS = 60;

async function askedFor(what: "approval" | "question" | "form") {
  const ref = await browserSession.createSession();
  const tab = await browserSession.openTab(await browserSession.openContext(), ref, ASKING);
  await tab.live();
  await tab.send(what);
  await findCard(tab, what).waitFor();
  return { ref, tab };
}

/** Returns the accessible name of the focused element. */
async function focused({ page }: Tab): Promise<string> {
  return await page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement)) return "";
    const label = element instanceof HTMLInputElement ? element.labels?.[0]?.innerText : undefined;
    return (label ?? element.getAttribute("aria-label") ?? element.innerText).trim();
  });
}

/** Moves the focus backwards from the composer, stop by stop, until it reaches the name. */
async function goTo(tab: Tab, name: RegExp): Promise<void> {
  const passed: string[] = [];
  for (let n = 0; n < MOST_STOPS; n++) {
    const now = await focused(tab);
    if (name.test(now)) return;
    passed.push(now);
    await tab.page.keyboard.press("Shift+Tab");
  }
  throw new Error(`${String(name)} can't be reached; the focus stops were ${JSON.stringify(passed)}`);
}

test("U05 an approval: A focuses the card, and Y approves", async () => {
  const { tab } = await askedFor("approval");
  // In a text field, letters are only typed.
  await tab.page.keyboard.press("a");
  await expect.poll(() => tab.composer.inputValue()).toBe("a");
  await tab.page.keyboard.press("Shift+Tab");
  await tab.page.keyboard.press("a");
  await expect
    .poll(() => findCard(tab, "approval").evaluate((card) => card === document.activeElement))
    .toBe(true);
  expect(await findCard(tab, "approval").count()).toBe(1);
  await tab.page.keyboard.press("y");
  await tab.reads("All of it is done.");
});

test("U05 an approval, button by button: rejected with a reason", async () => {
  const { tab } = await askedFor("approval");
  await goTo(tab, new RegExp(`^${strings.reject}$`));
  await tab.page.keyboard.press("Enter");
  await tab.page.keyboard.insertText("Not today");
  await tab.page.keyboard.press("Enter");
  await tab.reads("Not today");
  await tab.reads("All of it is done.");
});

test("U05 a question", async () => {
  const { tab } = await askedFor("question");
  await goTo(tab, /^(Red|Green)$/);
  await tab.page.keyboard.press("Space");
  await tab.page.keyboard.press("ArrowDown");
  await tab.page.keyboard.press("Enter");
  await tab.reads("All of it is done.");
});

test("U07 a form", async () => {
  const { tab } = await askedFor("form");
  await goTo(tab, /^Email/);
  // An empty form is not sent, and the focus moves to the invalid field.
  await tab.page.keyboard.press("Enter");
  await tab.reads(strings.fixFields(1));
  await expect.poll(() => focused(tab)).toMatch(/^Email/);
  await tab.page.keyboard.insertText("an@example.org");
  await tab.page.keyboard.press("Enter");
  await tab.reads("an@example.org");
  await tab.reads("All of it is done.");
});
