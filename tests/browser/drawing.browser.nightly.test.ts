/** Tests how little a page renders for one event, and that it hydrates the HTML of a server without changes. */
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import { listEvents, SCENARIOS } from "@turnstream/conformance/scenarios/index.ts";
import { createStaticSession } from "@turnstream/client/static";
import { preload } from "@turnstream/react";
import type { SessionEvent } from "@turnstream/protocol";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { App } from "./recorded/app.tsx";
import { append, openRecorded, settled, start, withRecordedPages } from "./recorded-page.ts";

withRecordedPages();

/**
 * A log with this many messages, each with an answer. The last answer is still streaming, after two groups of tools.
 */
function longLog(messages: number): Story {
  const log = new Story({ check: false }).session("ses_long", 9);
  for (let n = 0; n < messages / 2 - 1; n++) {
    log
      .begin(`Question ${n}`)
      .text([`Answer ${n}, as it is in history.`], { final: true })
      .end();
  }
  return log;
}

test("U08 a delta renders one block in a thread of 200 messages", async () => {
  const page = await openRecorded();
  const log = longLog(200).begin("And now?");
  log.openGroup();
  for (const name of ["get_price", "get_volume"]) {
    const call = log.call(name, ['{"n":1}'], { label: name });
    log.endResult(log.startResult(call, name, { label: name }), "here");
  }
  log.closeGroup("Looked it up");
  log.text(["One ", "two ", "three ", "four "], { final: true }).end();
  const { events } = log;
  const deltas = events.flatMap(({ type }, n) => (type === "text.delta" ? [n] : [])).slice(-4);
  const [first = 0, second = 0] = deltas;
  await start(page, events.slice(0, first + 1));
  await page.waitForFunction(() => document.querySelectorAll(".ts-turn").length === 100);
  // Wait until lazy parts are rendered, so that they are not counted.
  await settled(page);
  await page.evaluate(() => {
    window.touched = [];
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const element = target instanceof Element ? target : target.parentElement;
        const part = element?.closest(
          ".ts-text, .ts-group-frame, .ts-user, .ts-dock, .ts-brand, .ts-announcer",
        );
        window.touched?.push(part?.className.split(" ")[0] ?? "elsewhere");
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  });
  await page.evaluate(() => window.recorded?.drawn());
  await append(page, [events[second] as SessionEvent]);
  const block = (events[second] as SessionEvent & { readonly index: number }).index;
  const drawn = (await page.evaluate(() => window.recorded?.drawn())) ?? {};
  const parts = Object.entries(drawn).filter(([name]) => !name.startsWith("Markdown"));
  expect(parts).toEqual([[`TextBlock ${block}`, 1]]);
  expect(new Set(await page.evaluate(() => window.touched))).toEqual(new Set(["ts-text"]));
});

const STRIDE = 7;

test.each(["as it loads", "preloaded"])(
  "hydrates server HTML without differences, at many points of every scenario: %s",
  async (how) => {
    const page = await openRecorded();
    // A string can't wait for what loads. In the page, the HTML stays until its code has loaded.
    await preload();
    if (how === "preloaded") await page.evaluate(async () => await window.recorded?.preload());
    const [logs, drawn] = [Object.values(SCENARIOS).map(listEvents), new Set<string>()];
    for (const events of logs) {
      for (let n = events.length; n > 0; n -= STRIDE) {
        const log = events.slice(0, n);
        const html = renderToString(createElement(App, { session: createStaticSession(log) }));
        await start(page, log, html);
        drawn.add(html);
      }
    }
    // Wait for effects. Errors that React recovered from count as differences, and so do console messages.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0))));
    expect(await page.evaluate(() => window.recorded?.mended)).toEqual([]);
    expect(drawn.size).toBeGreaterThan(50);
    const has = (part: string) => [...drawn].some((html) => html.includes(part));
    expect(["ts-approval", "ts-form", 'dir="auto"><p class="ts-plain">'].map(has)).toEqual([
      true,
      true,
      false,
    ]);
  },
);

declare global {
  interface Window {
    /** Class names of the elements that changed. */
    touched?: string[];
  }
}
