/** Tests which texts the live regions of a page announce during whole stories, and in which order. */
import { listEvents, SCENARIOS } from "@turnstream/conformance/scenarios/index.ts";
import type { SessionEvent } from "@turnstream/protocol";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { append, openRecorded, start, withRecordedPages } from "./recorded-page.ts";

withRecordedPages();

declare global {
  interface Window {
    announced?: string[];
  }
}

/**
 * Records the texts that are added to live regions from now on, as a screen reader gets them. Assertive ones start with
 * "!".
 */
async function listen(page: Page): Promise<void> {
  // The announcer loads after the first rendering and starts in an effect. What is there before counts as history.
  await page.waitForSelector(".ts-announcer", { state: "attached" });
  await append(page, []);
  await page.evaluate(() => {
    const announced: string[] = [];
    window.announced = announced;
    const record = (node: Node): void => {
      const region = (node instanceof Element ? node : node.parentElement)?.closest("[aria-live]");
      const live = region?.getAttribute("aria-live");
      const text = node.textContent?.trim() ?? "";
      if (text !== "" && live === "polite") announced.push(text);
      if (text !== "" && live === "assertive") announced.push(`! ${text}`);
    };
    new MutationObserver((changes) => {
      for (const { type, target, addedNodes } of changes)
        for (const node of type === "characterData" ? [target] : addedNodes) record(node);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}

const readAnnounced = async (page: Page) => await page.evaluate(() => window.announced);

/** Sorts polite before assertive texts. Each region has its own order, and the order between the two is undefined. */
const byRegion = (list: readonly string[] = []) =>
  list.toSorted((a, b) => Number(a.startsWith("!")) - Number(b.startsWith("!")));

function logOf(name: string): readonly SessionEvent[] {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`the scenario ${name} does not exist`);
  return listEvents(scenario);
}

const STARTED = "Market is working.";
const DONE = "Market is done.";
const STORIES: readonly (readonly [name: string, texts: readonly string[]])[] = [
  ["plain-answer", [STARTED, DONE]],
  [
    "approved-and-edited",
    [STARTED, "Your approval is needed: 发邮件.", "Your approval is needed: 订会议室.", DONE],
  ],
  ["error-and-retry", [STARTED, "! Failed. The model could not answer. Try again.", STARTED, DONE]],
  [
    "payment-settles-later",
    [
      STARTED,
      "A payment is due: 演唱會門票 x2 🎫.",
      "Payment for 演唱會門票 x2 🎫: processing.",
      STARTED,
      "Payment for 演唱會門票 x2 🎫: paid.",
      DONE,
      STARTED,
      "A payment is due: 節目冊.",
      "Payment for 節目冊: cancelled.",
    ],
  ],
  ["stopped", [STARTED, "Stopped."]],
];

test.each(STORIES)("U07 announces what happens, event by event: %s", async (name, texts) => {
  const page = await openRecorded();
  const [first, ...events] = logOf(name);
  await start(page, first === undefined ? [] : [first]);
  await listen(page);
  for (const event of events) await append(page, [event]);
  await expect.poll(() => readAnnounced(page)).toEqual(texts);
});

test.each(STORIES)("U07 announces everything when all events arrive at once: %s", async (name, texts) => {
  const page = await openRecorded();
  const [first, ...events] = logOf(name);
  await start(page, first === undefined ? [] : [first]);
  await listen(page);
  await page.evaluate((text) => {
    for (const event of JSON.parse(text) as SessionEvent[]) window.recorded?.append([event]);
  }, JSON.stringify(events));
  await expect.poll(async () => byRegion(await readAnnounced(page))).toEqual(byRegion(texts));
});
