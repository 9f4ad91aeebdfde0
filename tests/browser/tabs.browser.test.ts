/** Tests several tabs of one user: actions in one tab are visible in the others, and hidden tabs have no connection. */
import { until } from "@turnstream/testkit/util/until.ts";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { allowHiding, freeze, passTime, setFrozen, setHidden } from "./hidden-tabs.ts";
import { answerTo, ASKING } from "./agents.ts";
import { BrowserSession } from "./browser-session.ts";
import { approve, findCard, stop } from "./story/cards.ts";
import { compareScreens } from "./story/compare.ts";
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

async function openTabs(count: number, agent?: string) {
  const ref = await browserSession.createSession();
  const context = await browserSession.openContext();
  await allowHiding(context);
  const tabs: Tab[] = [];
  for (let n = 0; n < count; n++) tabs.push(await browserSession.openTab(context, ref, agent));
  for (const tab of tabs) await tab.live();
  const [first, second] = tabs;
  if (first === undefined || second === undefined) throw new Error("at least two tabs are needed");
  return { ref, context, tabs, first, second };
}

/** The sockets of closed tabs may take a moment to close. */
async function connectionsAre(count: number): Promise<void> {
  await until(`${count} connections`, () => browserSession.environment.connections === count);
}

/** Counts the notices about the connection that the tab shows from now on. @returns a function that reads the count */
async function countBanners({ page }: Tab): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const seen = new WeakSet<Element>();
    Object.assign(window, { banners: 0 });
    const look = (): void => {
      for (const banner of document.querySelectorAll(".ts-banner")) {
        if (seen.has(banner)) continue;
        seen.add(banner);
        Object.assign(window, { banners: Number(Reflect.get(window, "banners")) + 1 });
      }
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  });
  return async () => await page.evaluate(() => Number(Reflect.get(window, "banners")));
}

test.each(["one browser", "two browsers"])(
  "U05 an approval that is decided in one tab is decided in the other: %s",
  async (where) => {
    const { ref, context, first } = await openTabs(2, ASKING);
    const other = where === "one browser" ? context : await browserSession.openContext();
    const second = await browserSession.openTab(other, ref, ASKING);
    await second.live();
    await first.send("approval");
    for (const tab of [first, second]) await tab.reads("Buy milk");
    await approve(second);
    for (const tab of [first, second]) await tab.reads("All of it is done.");
    await expect.poll(() => findCard(first, "approval").count()).toBe(0);
    await compareScreens(first, second, browserSession.readHead(ref));
  },
);

test("a turn that is stopped from another tab", async () => {
  const { ref, first, second } = await openTabs(2);
  onTestFinished(browserSession.pauseAnswerAfter(10));
  await first.send("stop");
  await second.reads("stop-3 ");
  await stop(second);
  for (const tab of [first, second])
    await tab.until("the turn to be stopped", ({ turns }) => turns.at(-1) === "user_stopped");
  const screen = await compareScreens(first, second, browserSession.readHead(ref));
  expect(screen).not.toContain("data-running");
  expect(screen).not.toContain("stop-60");
});

test("U08 each tab has a connection, and none when it is closed", async () => {
  const { first, second, ref } = await openTabs(2);
  await connectionsAre(2);
  await second.send("one");
  for (const tab of [first, second]) await tab.reads(answerTo("one"));
  await first.close();
  await second.send("two");
  await second.reads(answerTo("two"));
  await connectionsAre(1);
  expect(await browserSession.readMessages(ref)).toEqual(["one", "two"]);
  await second.close();
  await connectionsAre(0);
});

test("ten tabs show the same", async () => {
  const { ref, tabs, first } = await openTabs(10);
  await first.send("ten");
  for (const tab of tabs) await tab.reads(answerTo("ten"));
  for (const tab of tabs.slice(1)) await compareScreens(first, tab, browserSession.readHead(ref));
});

test("U08 a hidden tab catches up when it becomes visible", async () => {
  const { ref, first, second } = await openTabs(2);
  await setHidden(second, true);
  await first.send("hidden");
  await first.reads(answerTo("hidden"));
  await setHidden(second, false);
  await second.reads(answerTo("hidden"));
  await compareScreens(first, second, browserSession.readHead(ref));
});

test("U08 a hidden tab closes its connection, and catches up when it becomes visible without a notice", async () => {
  const { ref, first, second } = await openTabs(2);
  await second.send("before");
  for (const tab of [first, second]) await tab.reads(answerTo("before"));
  await setHidden(second, true);
  await connectionsAre(2);
  await passTime(second, 60_000);
  await connectionsAre(1);
  expect(await second.view()).toMatchObject({ phase: "hidden", wire: null, error: null, failures: 0 });
  await first.send("away");
  await first.reads(answerTo("away"));
  expect(await second.view()).toMatchObject({ phase: "hidden", turns: ["end_turn"] });
  const banners = await countBanners(second);
  await setHidden(second, false);
  await second.reads(answerTo("away"));
  await second.live();
  await compareScreens(first, second, browserSession.readHead(ref));
  expect(await banners()).toBe(0);
});

test("a hidden tab keeps its connection during a turn, and sends a message without one", async () => {
  const { ref, first, second } = await openTabs(2);
  const resume = browserSession.pauseAnswerAfter(10);
  onTestFinished(resume);
  await first.send("long");
  await second.reads("long-3 ");
  await setHidden(second, true);
  await passTime(second, 60_000);
  await passTime(second, 60_000);
  await connectionsAre(2);
  resume();
  await second.until("the end of the turn", ({ turns }) => turns.at(-1) === "end_turn");
  await passTime(second, 60_000);
  await connectionsAre(1);
  await second.page.evaluate(() =>
    window.turnstream?.session.send({ text: "later", agentId: "long-answer" }),
  );
  await first.reads(answerTo("later"));
  await second.until("the end of the turn", ({ turns }) => turns.length === 2 && turns[1] === "end_turn");
  expect(await browserSession.readMessages(ref)).toEqual(["long", "later"]);
});

test("a tab that the browser freezes closes its connection at once, also during a turn", async () => {
  const { ref, first, second } = await openTabs(2);
  const resume = browserSession.pauseAnswerAfter(10);
  onTestFinished(resume);
  await first.send("ice");
  await second.reads("ice-3 ");
  await setFrozen(second, true);
  await connectionsAre(1);
  resume();
  await first.reads(answerTo("ice"));
  await setFrozen(second, false);
  await second.reads(answerTo("ice"));
  await compareScreens(first, second, browserSession.readHead(ref));
});

test("a frozen tab catches up", async () => {
  const { ref, first, second } = await openTabs(2);
  const goOn = await freeze(second);
  await first.send("frozen");
  await first.reads(answerTo("frozen"));
  await goOn();
  await second.reads(answerTo("frozen"));
  await compareScreens(first, second, browserSession.readHead(ref));
});

test("a frozen tab doesn't block the others", async () => {
  const { ref, first, second } = await openTabs(2);
  const goOn = await freeze(first);
  await second.send("leader");
  await second.reads(answerTo("leader"));
  await goOn();
  await first.reads(answerTo("leader"));
  await compareScreens(first, second, browserSession.readHead(ref));
  expect(await browserSession.readMessages(ref)).toEqual(["leader"]);
});
