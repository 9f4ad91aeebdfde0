/** Tests several tabs of one user: actions in one tab are visible in the others, and all tabs share one connection. */
import { until } from "@turnstream/testkit/util/until.ts";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { freeze, allowHiding, setHidden } from "./hidden-tabs.ts";
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

test("U08 two tabs have one connection, and none when both are closed", async () => {
  const { first, second, ref } = await openTabs(2);
  await connectionsAre(1);
  await second.send("one");
  for (const tab of [first, second]) await tab.reads(answerTo("one"));
  // The tab with the connection is closed, and the other continues from the same position.
  await first.close();
  await second.send("two");
  await second.reads(answerTo("two"));
  await connectionsAre(1);
  expect(await browserSession.readMessages(ref)).toEqual(["one", "two"]);
  await second.close();
  await connectionsAre(0);
});

test("ten tabs have one connection, and show the same", async () => {
  const { ref, tabs, first } = await openTabs(10);
  await connectionsAre(1);
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

test("a frozen tab catches up", async () => {
  const { ref, first, second } = await openTabs(2);
  const goOn = await freeze(second);
  await first.send("frozen");
  await first.reads(answerTo("frozen"));
  await goOn();
  await second.reads(answerTo("frozen"));
  await compareScreens(first, second, browserSession.readHead(ref));
});

test("a frozen tab with the shared connection doesn't block the others", async () => {
  const { ref, first, second } = await openTabs(2);
  const goOn = await freeze(first);
  await second.send("leader");
  await second.reads(answerTo("leader"));
  await goOn();
  await first.reads(answerTo("leader"));
  await compareScreens(first, second, browserSession.readHead(ref));
  expect(await browserSession.readMessages(ref)).toEqual(["leader"]);
});
