/**
 * Every story on a real screen: asked, decided and stopped on a page, against a real gateway and worker. One tab is
 * reloaded at the moments that the story names, whenever somebody is asked, and at random ones; another never is. Whenever
 * the story stands still, and in the end, both show the same. TURNSTREAM_RELOADS says at how many random moments;
 * TURNSTREAM_SEED plays the same ones again.
 */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { STORIES } from "@turnstream/conformance/stories/index.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { play } from "../packages/server/test/stories/run-story.ts";
import { Theatre } from "../packages/server/test/stories/story-environment.ts";
import { saidBy } from "./artefacts.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { House } from "./test-environment.ts";
import { openAll } from "./screen.ts";
import { countBeats } from "./story/count-beats.ts";
import { ON_SCREEN } from "./story/on-screen.ts";
import { outlineOf } from "./story/outline.ts";
import { PacedGates } from "./story/paced-gates.ts";
import { type Layout, PageHands } from "./story/page-driver.ts";
import { pickMoments, randomFrom } from "./story/random.ts";
import type { Tab } from "./tab.ts";

const RELOADS = Number(process.env["TURNSTREAM_RELOADS"] ?? 2);
const SEED = Number(process.env["TURNSTREAM_SEED"] ?? randomInt(1_000_000));
const LAYOUTS: readonly Layout[] = ["apart", "stayer first", "goer first"];

let browser: Browser;
let house: House;
let theatre: Theatre;
let beats: ReadonlyMap<string, number>;
let reloads = 0;
const gates = new Map(STORIES.map((story) => [story, new PacedGates()]));

beforeAll(async () => {
  beats = await countBeats();
  house = await House.open();
  theatre = await Theatre.open((story) => gates.get(story) ?? new PacedGates(), house.parts);
  browser = await openBrowser();
}, 300_000);

afterAll(async () => {
  console.log(`${reloads} reloads compared, ${RELOADS} random ones for each story; TURNSTREAM_SEED=${SEED}`);
  await closeBrowser(browser);
  await house?.close();
  await theatre?.close();
}, 60_000);

describe.each(STORIES.map((story, n) => ({ story, name: story.name, n })))("$name", ({ story, n }) => {
  test(
    `U01 U02 U05 U07 U09 is seen on screen, and a reload changes nothing (seed ${SEED})`,
    async () => {
      const own = gates.get(story) ?? new PacedGates();
      const random = randomFrom(SEED + n);
      const hands = new PageHands({ browser, house, stage: theatre.stage }, own, {
        layout: LAYOUTS[(SEED + n) % LAYOUTS.length] ?? "apart",
        moments: pickMoments(random, beats.get(story.name) ?? 0, RELOADS),
      });
      const { ref } = await play(theatre.stage, story, own, hands);
      const screen = await hands.compare(ref);
      reloads += hands.reloads;
      expect(hands.failures).toEqual([]);
      expect(screen).not.toContain("data-running");
      expect(await settledOutline(hands.stayer, ON_SCREEN[story.name] ?? [])).toEqual(ON_SCREEN[story.name]);
      for (const { page } of [hands.stayer, hands.goer])
        expect(saidBy(page).filter((line) => /^(thrown|error)/.test(line))).toEqual([]);
      for (const context of browser.contexts()) await context.close();
    },
    120_000 + 15_000 * RELOADS,
  );
});

/** Groups that have just ended fold up a moment later: they are opened again. */
async function settledOutline({ page }: Tab, expected: readonly string[]): Promise<string[]> {
  const deadline = performance.now() + 30_000;
  while (true) {
    await openAll(page);
    const seen = await outlineOf(page);
    if (isDeepStrictEqual(seen, expected) || performance.now() > deadline) return seen;
    await sleep(100);
  }
}

test("no story has met an error of the gateway", () => {
  expect(house.failures).toEqual([]);
});
