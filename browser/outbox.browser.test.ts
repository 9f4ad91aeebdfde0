/** Messages that are sent while there is no connection, or whose answer is lost: each arrives, and arrives once. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { answerTo } from "./agents.ts";
import { BrowserSession } from "./browser-session.ts";
import { compareScreens } from "./story/compare.ts";

let browserSession: BrowserSession;

beforeAll(async () => {
  browserSession = await BrowserSession.open();
});

afterEach(async () => {
  await browserSession.environment.proxy.heal();
  for (const context of browserSession.browser.contexts()) await context.close();
});

afterAll(async () => {
  await browserSession?.close();
});

async function openTab() {
  const ref = await browserSession.createSession();
  const context = await browserSession.openContext();
  const tab = await browserSession.openTab(context, ref);
  await tab.live();
  return { ref, context, tab };
}

/** Everything that was said is there once, and answered. */
async function arrivesOnce({ ref, tab }: Awaited<ReturnType<typeof openTab>>, texts: readonly string[]) {
  for (const text of texts) await tab.reads(answerTo(text));
  await tab.until("nothing to be on its way", ({ outbox }) => outbox.length === 0);
  expect(await browserSession.readMessages(ref)).toEqual(texts);
  const fresh = await browserSession.openTab(await browserSession.openContext(), ref);
  await compareScreens(tab, fresh, browserSession.readHead(ref));
}

test("sent while the machine is offline", async () => {
  const open = await openTab();
  await open.context.setOffline(true);
  await open.tab.until("to notice", ({ phase }) => phase === "offline");
  await open.tab.send("hello");
  await open.tab.reads("hello");
  expect(await browserSession.readMessages(open.ref)).toEqual([]);
  await open.context.setOffline(false);
  await arrivesOnce(open, ["hello"]);
});

test("sent without a connection, and the page is reloaded before there is one", async () => {
  const open = await openTab();
  browserSession.environment.proxy.cut();
  await open.tab.until("to notice", ({ phase }) => phase !== "live");
  await open.tab.send("first");
  await open.tab.send("second");
  await open.tab.until("to keep them", ({ outbox }) => outbox.length === 2);
  await open.tab.reload();
  await open.tab.reads("first");
  await open.tab.reads("second");
  await open.tab.reload();
  await open.tab.reads("second");
  await browserSession.environment.proxy.heal();
  await arrivesOnce(open, ["first", "second"]);
});

test("delivered, and the answer is lost", async () => {
  const open = await openTab();
  browserSession.environment.proxy.blackhole("toClient");
  await open.tab.send("lost");
  await browserSession.harness.until(open.ref, 60_000, ({ turns }) => (turns.length > 0 ? true : null));
  await browserSession.environment.proxy.heal();
  await arrivesOnce(open, ["lost"]);
});

test("delivered, the answer is lost, and the page is reloaded", async () => {
  const open = await openTab();
  browserSession.environment.proxy.blackhole("toClient");
  await open.tab.send("gone");
  await browserSession.harness.until(open.ref, 60_000, ({ turns }) => (turns.length > 0 ? true : null));
  await open.tab.until("to keep it", ({ outbox }) => outbox.length === 1);
  await open.tab.reload();
  await browserSession.environment.proxy.heal();
  await arrivesOnce(open, ["gone"]);
});

test("sent without a connection, and the page is opened again at another session", async () => {
  const open = await openTab();
  const { ref, context, tab } = open;
  browserSession.environment.proxy.cut();
  await tab.until("to notice", ({ phase }) => phase !== "live");
  await tab.send("elsewhere");
  await tab.until("to keep it", ({ outbox }) => outbox.length === 1);
  await tab.close();
  const other = await browserSession.openTab(context, await browserSession.createSession());
  await browserSession.environment.proxy.heal();
  await other.live();
  await browserSession.harness.until(ref, 60_000, ({ turns }) => (turns.length > 0 ? true : null));
  await arrivesOnce({ ...open, tab: await browserSession.openTab(context, ref) }, ["elsewhere"]);
});
