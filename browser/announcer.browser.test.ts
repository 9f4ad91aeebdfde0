/** What the live regions of a page say in the course of whole stories, in order. */
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

/** Writes down what is put into live regions from now on, as a screen reader hears it; what is urgent is marked. */
async function listen(page: Page): Promise<void> {
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

/** Two regions: each in its order, and nobody knows which is read first. */
const byRegion = (list: readonly string[] = []) =>
  list.toSorted((a, b) => Number(a.startsWith("!")) - Number(b.startsWith("!")));

function logOf(name: string): readonly SessionEvent[] {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
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
  ["error-and-retry", [STARTED, "! Failed. The model did not answer. Try again.", STARTED, DONE]],
  ["payment-settles-later", [STARTED, "A payment is due: 演唱會門票 x2 🎫.", STARTED, DONE]],
  ["stopped", [STARTED, "Stopped."]],
];

test.each(STORIES)("U07 the page says what happens, event by event: %s", async (name, texts) => {
  const page = await openRecorded();
  const [first, ...events] = logOf(name);
  await start(page, first === undefined ? [] : [first]);
  await listen(page);
  for (const event of events) await append(page, [event]);
  await expect.poll(() => readAnnounced(page)).toEqual(texts);
});

test.each(STORIES)("U07 nothing is left out where all of it comes at once: %s", async (name, texts) => {
  const page = await openRecorded();
  const [first, ...events] = logOf(name);
  await start(page, first === undefined ? [] : [first]);
  await listen(page);
  await page.evaluate((text) => {
    for (const event of JSON.parse(text) as SessionEvent[]) window.recorded?.append([event]);
  }, JSON.stringify(events));
  await expect.poll(async () => byRegion(await readAnnounced(page))).toEqual(byRegion(texts));
});
