/**
 * Plays every story in real pages against a real gateway and worker. One tab is reloaded at the moments that the story
 * names, whenever the user is asked, and at random moments. Another tab is never reloaded.
 *
 * Invariant: whenever the story pauses, and in the end, both tabs show the same. TURNSTREAM_RELOADS sets the number of
 * random reloads, and TURNSTREAM_SEED repeats the same ones.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { STORIES } from "@turnstream/conformance/stories/index.ts";
import { pickNumbers, readSeed, seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { play } from "../../packages/server/test/stories/run-story.ts";
import { StoryEnvironment } from "../../packages/server/test/stories/story-environment.ts";
import { readConsole } from "./artefacts.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { TestEnvironment } from "./test-environment.ts";
import { openAll } from "./screen.ts";
import { countBeats } from "./story/count-beats.ts";
import { ON_SCREEN } from "./story/on-screen.ts";
import { readOutline } from "./story/outline.ts";
import { PacedGates } from "./story/paced-gates.ts";
import { type Layout, PageDriver } from "./story/page-driver.ts";
import type { Tab } from "./tab.ts";

const RELOADS = Number(process.env["TURNSTREAM_RELOADS"] ?? 2);
const SEED = readSeed();
const LAYOUTS: readonly Layout[] = ["apart", "stable first", "reloaded first"];

let browser: Browser;
let environment: TestEnvironment;
let theatre: StoryEnvironment;
let beats: ReadonlyMap<string, number>;
let reloads = 0;
const gates = new Map(STORIES.map((story) => [story, new PacedGates()]));

beforeAll(async () => {
  beats = await countBeats();
  environment = await TestEnvironment.open();
  theatre = await StoryEnvironment.open((story) => gates.get(story) ?? new PacedGates(), environment.backend);
  browser = await openBrowser();
}, 300_000);

afterAll(async () => {
  console.log(`${reloads} reloads compared, ${RELOADS} random ones for each story; TURNSTREAM_SEED=${SEED}`);
  await closeBrowser(browser);
  await environment?.close();
  await theatre?.close();
}, 60_000);

describe.each(STORIES.map((story, n) => ({ story, name: story.name, n })))("$name", ({ story, n }) => {
  test(
    `U01 U02 U05 U07 U09 W19 W20 W23 is shown completely, and a reload changes nothing (seed ${SEED})`,
    async () => {
      const own = gates.get(story) ?? new PacedGates();
      const random = seededRandom(SEED + n);
      const driver = new PageDriver({ browser, environment, stage: theatre.harness }, own, {
        layout: LAYOUTS[(SEED + n) % LAYOUTS.length] ?? "apart",
        moments: pickNumbers(random, beats.get(story.name) ?? 0, RELOADS),
      });
      const { ref } = await play(theatre.harness, story, own, driver);
      expect(await driver.compare(ref)).not.toContain("data-running");
      reloads += driver.reloads;
      expect(driver.failures).toEqual([]);
      expect(await settledOutline(driver.stableTab, ON_SCREEN[story.name] ?? [])).toEqual(
        ON_SCREEN[story.name],
      );
      for (const { page } of [driver.stableTab, driver.reloadedTab])
        expect(readConsole(page).filter((line) => /^(thrown|error)/.test(line))).toEqual([]);
      for (const context of browser.contexts()) await context.close();
    },
    120_000 + 15_000 * RELOADS,
  );
});

/** Groups that have just ended collapse a moment later, so expand them again. */
async function settledOutline({ page }: Tab, expected: readonly string[]): Promise<string[]> {
  const deadline = performance.now() + 30_000;
  while (true) {
    await openAll(page);
    const seen = await readOutline(page);
    if (isDeepStrictEqual(seen, expected) || performance.now() > deadline) return seen;
    await sleep(100);
  }
}

test("the gateway reported no error in any story", () => {
  expect(environment.failures).toEqual([]);
});
