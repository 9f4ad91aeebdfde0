/**
 * Tests that an error in one component doesn't affect others, and that no state leaks into another session or decision.
 */
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { numbered } from "./hostile/places.ts";
import { append, openRecorded, start, withRecordedPages } from "./recorded-page.ts";
import { pageUrl } from "./pages.ts";

withRecordedPages();

function answered(): Story {
  const log = new Story({ check: false }).session("ses_robust", 3).begin("How is VNM?");
  const call = log.call("get_price", ["{}"], { label: "Reading the price" });
  log.endResult(log.startResult(call, "get_price", { label: "Reading the price" }), "82,000 VND");
  return log.text(["It stands at 82,000."], { final: true }).end();
}

/** Opens its own page, because the page reports errors to the console, which fails other pages. */
async function withOwnPage(look: (page: Page) => Promise<void>, prepare?: (page: Page) => Promise<void>) {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    await prepare?.(page);
    await page.goto(pageUrl("recorded"));
    await page.waitForFunction(() => window.recorded !== undefined);
    await look(page);
  } finally {
    await closeBrowser(browser);
  }
}

async function withSpoilt(part: string, look: (page: Page) => Promise<void>): Promise<void> {
  await withOwnPage(async (page) => {
    await page.evaluate((name) => window.recorded?.spoil(name), part);
    await start(page, answered().events);
    await look(page);
  });
}

test("a component that throws is replaced by a message, the others stay, and it can be rendered again", async () => {
  await withSpoilt("TextBlock", async (page) => {
    await page.getByText("This can't be shown.").waitFor();
    await expect.poll(() => page.getByRole("button", { name: /Reading the price/ }).count()).toBe(1);
    await expect.poll(() => page.getByText("How is VNM?").count()).toBe(1);
    await page.evaluate(() => window.recorded?.spoil(""));
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("It stands at 82,000.").waitFor();
    await expect.poll(() => page.getByText("This can't be shown.").count()).toBe(0);
  });
});

test("unsent text of one session isn't carried into another", async () => {
  const page = await openRecorded();
  await start(page, answered().events);
  const field = page.locator(".ts-composer textarea");
  await field.fill("only for the first");
  await append(page, []);
  await expect.poll(() => field.inputValue()).toBe("only for the first");
  await page.evaluate(() => window.recorded?.swap([], "ses_other"));
  await expect.poll(() => field.inputValue()).toBe("");
});

const APPROVAL = numbered([
  { type: "session.start", session: "s", number: 1 },
  { type: "message.add", message: "m", text: "Hi", by: "an" },
  { type: "turn.start", turn: "t", number: 1, message: "m", message_number: 1, agent: "a", mode: "agent" },
  { type: "run.start", turn: "t", run: "r", agent: "a" },
  {
    type: "approval.request",
    turn: "t",
    run: "r",
    block: "b0",
    index: 0,
    key: "k",
    call: "c",
    actions: [{ name: "buy", label: "Buy VNM", input: { symbol: "VNM" } }],
    editable: true,
    digest: "d1",
    deadline: 4_000_000_000_000,
  },
]);

test("a card whose code can't be loaded shows a notice, and appears after a retry", async () => {
  let isAway = true;
  const refuse = async (page: Page): Promise<void> => {
    await page.route("**/*cards-chunk*", async (route) => {
      if (isAway) await route.fulfill({ status: 404 });
      else await route.continue();
    });
  };
  await withOwnPage(async (page) => {
    await start(page, APPROVAL);
    await page.getByText("A part of the page failed to load.").waitFor();
    await expect.poll(() => page.locator("[data-card=approval]").count()).toBe(0);
    isAway = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator("[data-action=approve]").waitFor();
    await expect.poll(() => page.getByText("A part of the page failed to load.").count()).toBe(0);
  }, refuse);
});

test("U05: after a rejection that failed, the approve button is unchanged", async () => {
  const page = await openRecorded();
  await start(page, APPROVAL);
  await page.evaluate(() => window.recorded?.refuse("OFFLINE"));
  await page.getByRole("button", { name: "Reject" }).click();
  await page.locator(".ts-reason button[type=submit]").click();
  await page.getByText("There is no connection. Nothing was sent.").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect.poll(() => page.locator("[data-action=approve]").innerText()).toBe("Approve");
});

test("U07: a question has the frame of the other cards", async () => {
  const page = await openRecorded();
  const questions = [
    { id: "q", text: "When?", options: [{ id: "a", label: "Now" }], multiple: false, free_text: false },
  ];
  const at = { turn: "t", run: "r", block: "b0", index: 0 };
  await start(page, [
    ...APPROVAL.slice(0, 4),
    ...numbered([{ type: "question.request", ...at, key: "k", questions, deadline: 4_000_000_000_000 }], 4),
  ]);
  const card = page.locator("[data-card=question]");
  await card.waitFor();
  const frame = await card.evaluate((element) => {
    const { paddingTop, borderTopWidth } = getComputedStyle(element);
    return [parseFloat(paddingTop), parseFloat(borderTopWidth)];
  });
  expect(frame[0]).toBeGreaterThan(8);
  expect(frame[1]).toBeGreaterThan(0);
});

test("Escape in an input method cancels the composition, not the edit", async () => {
  const page = await openRecorded();
  await start(page, APPROVAL);
  await page.getByRole("button", { name: "Edit" }).click();
  const field = page.locator(".ts-edit input");
  await field.fill("VN");
  const press = async (isComposing: boolean) =>
    await field.evaluate((element, composing) => {
      element.dispatchEvent(
        new KeyboardEvent("keydown", { key: "Escape", bubbles: true, isComposing: composing }),
      );
    }, isComposing);
  await press(true);
  expect(await field.inputValue()).toBe("VN");
  await press(false);
  await field.waitFor({ state: "detached" });
});
