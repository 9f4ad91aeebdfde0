/**
 * Plays stories on a page with Svelte, which uses `@turnstream/client/view`: the same actions, reloads and comparisons
 * as in stories.browser.nightly.test.ts.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { STORIES } from "@turnstream/conformance/stories/index.ts";
import type { Moment, Story } from "@turnstream/conformance/stories/story.ts";
import type { SessionRef } from "@turnstream/server";
import { readSeed } from "@turnstream/testkit/util/seeded-random.ts";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { play } from "../../packages/server/test/stories/run-story.ts";
import { STORY_STRINGS, StoryEnvironment } from "../../packages/server/test/stories/story-environment.ts";
import { readConsole } from "./artefacts.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { openAll } from "./screen.ts";
import { ON_SCREEN } from "./story/on-screen.ts";
import { readOutline } from "./story/outline.ts";
import { PacedGates } from "./story/paced-gates.ts";
import { PageDriver } from "./story/page-driver.ts";
import { TestEnvironment } from "./test-environment.ts";

let browser: Browser;
let environment: TestEnvironment;
let theatre: StoryEnvironment;
const gates = new Map(STORIES.map((story) => [story, new PacedGates()]));

beforeAll(async () => {
  environment = await TestEnvironment.open();
  theatre = await StoryEnvironment.open((story) => gates.get(story) ?? new PacedGates(), environment.backend);
  browser = await openBrowser();
}, 300_000);

afterAll(async () => {
  await closeBrowser(browser);
  await environment?.close();
  await theatre?.close();
}, 60_000);

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

/** Where the texts of this page differ from those of the React components. Notices have the text of the server. */
const OWN_TEXTS: readonly (readonly [string, string])[] = [
  // The page with React has buttons for the chart and for its table.
  ["artifact: charttable", "artifact: chart"],
  ["You stopped this. Send a new message to continue.", STORY_STRINGS.stopped],
  ["The model could not answer. Try again.", STORY_STRINGS.errors.LLM_ERROR],
  ["Approved with changes", "Edited"],
  ["Not answered in time", "Timed out"],
  ["No longer needed", "Cancelled"],
];
const expectedOf = (name: string) =>
  (ON_SCREEN[name] ?? []).map((line) =>
    OWN_TEXTS.reduce((text, [theirs, own]) => text.replace(theirs, own), line),
  );

test.each(STORIES)(
  "$name is shown completely, and a reload changes nothing",
  async (story) => {
    const own = gates.get(story) ?? new PacedGates();
    const plan = { page: "svelte.html", layout: readSeed() % 2 === 0 ? "apart" : "stable first" } as const;
    const driver = new PageDriver({ browser, environment, stage: theatre.harness }, own, {
      ...plan,
      moments: [2],
    });
    const { ref } = await play(theatre.harness, story, own, driver);
    expect(await driver.compare(ref)).not.toContain("data-running");
    expect(driver.failures).toEqual([]);
    const { page } = driver.stableTab;
    const expected = expectedOf(story.name);
    let seen: string[] = [];
    for (let n = 0; n < 50 && !isDeepStrictEqual(seen, expected); n += 1) {
      await sleep(100);
      await openAll(page);
      // The page shows Markdown as written.
      seen = (await readOutline(page)).map((line) => line.replaceAll("**", ""));
    }
    expect(seen).toEqual(expected);
    for (const tab of [driver.stableTab, driver.reloadedTab])
      expect(readConsole(tab.page).filter((line) => /^(thrown|error)/.test(line))).toEqual([]);
  },
  150_000,
);

/** Closes the first thought as soon as it has a text. Records at each beat how long it is, and whether it is open. */
class ClosingDriver extends PageDriver {
  readonly seen: { readonly length: number; readonly isOpen: boolean }[] = [];

  override async watch(ref: SessionRef, story: Story): Promise<void> {
    await super.watch(ref, story);
    const own = gates.get(story);
    if (own !== undefined) own.onBeat = (beat) => this.#closeThought(beat);
  }

  async #closeThought(beat: number): Promise<void> {
    const summary = this.stableTab.page.locator("details:has(> .ts-thinking-body) > summary").first();
    // The story waits at the fourth beat: a page that stood still must not get the whole thought at once.
    if (this.seen.length === 0 && beat === 4) {
      const body = this.stableTab.page.locator(".ts-thinking-body").first();
      await body.filter({ hasText: /./ }).waitFor({ timeout: 30_000 });
    }
    if ((await summary.count()) === 0) return;
    const { length, isOpen } = await summary.evaluate(({ parentElement: details }) => ({
      length: details?.querySelector(".ts-thinking-body")?.textContent?.length ?? 0,
      isOpen: details?.hasAttribute("open") ?? false,
    }));
    if (length === 0) return;
    if (this.seen.length === 0) await summary.click();
    this.seen.push({ length, isOpen });
  }

  /** A comparison would open everything. */
  override async reload(_ref: SessionRef, at: Moment): Promise<() => Promise<string>> {
    return async () => at;
  }
}

test("a thought that the user closes stays closed while its text grows", async () => {
  const story = STORIES.find(({ name }) => name === "vnm-stock") as Story;
  const own = gates.get(story) ?? new PacedGates();
  const plan = { page: "svelte.html", layout: "apart", moments: [] } as const;
  const driver = new ClosingDriver({ browser, environment, stage: theatre.harness }, own, plan);
  own.paceMs = 80;
  await play(theatre.harness, story, own, driver);
  const [first, ...later] = driver.seen;
  expect(first?.isOpen).toBe(true);
  expect(later.at(-1)?.length).toBeGreaterThan(first?.length ?? 0);
  expect(later.filter(({ isOpen }) => isOpen)).toEqual([]);
}, 150_000);

test("the page has at most 150 lines of code", () => {
  const lines = ["thread.svelte", "card.svelte"].flatMap((name) =>
    readFileSync(new URL(`page/${name}`, import.meta.url), "utf8").split("\n"),
  );
  expect(lines.filter((line) => !/^\s*(\/\/|<!--|$)/.test(line)).length).toBeLessThanOrEqual(150);
});
