/** Tests messages that are sent without a connection, or whose acknowledgement is lost. Each arrives exactly once. */
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

/** Waits until every message is answered, and checks that each is in the log once. */
async function arrivesOnce({ ref, tab }: Awaited<ReturnType<typeof openTab>>, texts: readonly string[]) {
  for (const text of texts) await tab.reads(answerTo(text));
  await tab.until("the outbox to be empty", ({ outbox }) => outbox.length === 0);
  expect(await browserSession.readMessages(ref)).toEqual(texts);
  const fresh = await browserSession.openTab(await browserSession.openContext(), ref);
  await compareScreens(tab, fresh, browserSession.readHead(ref));
}

test("sent while the machine is offline", async () => {
  const open = await openTab();
  await open.context.setOffline(true);
  await open.tab.until("the tab to notice the lost connection", ({ phase }) => phase === "offline");
  await open.tab.send("hello");
  await open.tab.reads("hello");
  expect(await browserSession.readMessages(open.ref)).toEqual([]);
  await open.context.setOffline(false);
  await arrivesOnce(open, ["hello"]);
});

test("sent without a connection, and the page is reloaded before it reconnects", async () => {
  const open = await openTab();
  browserSession.environment.proxy.cut();
  await open.tab.until("the tab to notice the lost connection", ({ phase }) => phase !== "live");
  await open.tab.send("first");
  await open.tab.send("second");
  await open.tab.until("the outbox to have both messages", ({ outbox }) => outbox.length === 2);
  await open.tab.reload();
  await open.tab.reads("first");
  await open.tab.reads("second");
  await open.tab.reload();
  await open.tab.reads("second");
  await browserSession.environment.proxy.heal();
  await arrivesOnce(open, ["first", "second"]);
});

test("delivered, but the acknowledgement is lost", async () => {
  const open = await openTab();
  browserSession.environment.proxy.blackhole("toClient");
  await open.tab.send("lost");
  await browserSession.harness.until(open.ref, 60_000, ({ turns }) => (turns.length > 0 ? true : null));
  await browserSession.environment.proxy.heal();
  await arrivesOnce(open, ["lost"]);
});

test("delivered, but the acknowledgement is lost and the page is reloaded", async () => {
  const open = await openTab();
  browserSession.environment.proxy.blackhole("toClient");
  await open.tab.send("reloaded");
  await browserSession.harness.until(open.ref, 60_000, ({ turns }) => (turns.length > 0 ? true : null));
  await open.tab.until("the outbox to have the message", ({ outbox }) => outbox.length === 1);
  await open.tab.reload();
  await browserSession.environment.proxy.heal();
  await arrivesOnce(open, ["reloaded"]);
});

test("sent without a connection, and the page is opened again with another session", async () => {
  const open = await openTab();
  const { ref, context, tab } = open;
  browserSession.environment.proxy.cut();
  await tab.until("the tab to notice the lost connection", ({ phase }) => phase !== "live");
  await tab.send("elsewhere");
  await tab.until("the outbox to have the message", ({ outbox }) => outbox.length === 1);
  await tab.close();
  const other = await browserSession.openTab(context, await browserSession.createSession());
  await browserSession.environment.proxy.heal();
  await other.live();
  await browserSession.harness.until(ref, 60_000, ({ turns }) => (turns.length > 0 ? true : null));
  await arrivesOnce({ ...open, tab: await browserSession.openTab(context, ref) }, ["elsewhere"]);
});
