/** Messages that are sent while there is no connection, or whose answer is lost: each arrives, and arrives once. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { answerTo } from "./agents.ts";
import { Room } from "./browser-context.ts";
import { sameScreens } from "./story/compare.ts";

let room: Room;

beforeAll(async () => {
  room = await Room.open();
});

afterEach(async () => {
  await room.house.proxy.heal();
  for (const context of room.browser.contexts()) await context.close();
});

afterAll(async () => {
  await room?.close();
});

async function openTab() {
  const ref = await room.session();
  const context = await room.person();
  const tab = await room.tab(context, ref);
  await tab.live();
  return { ref, context, tab };
}

/** Everything that was said is there once, and answered. */
async function arrivesOnce({ ref, tab }: Awaited<ReturnType<typeof openTab>>, texts: readonly string[]) {
  for (const text of texts) await tab.reads(answerTo(text));
  await tab.until("nothing to be on its way", ({ outbox }) => outbox.length === 0);
  expect(await room.said(ref)).toEqual(texts);
  const fresh = await room.tab(await room.person(), ref);
  await sameScreens(tab, fresh, room.head(ref));
}

test("sent while the machine is offline", async () => {
  const open = await openTab();
  await open.context.setOffline(true);
  await open.tab.until("to notice", ({ phase }) => phase === "offline");
  await open.tab.send("hello");
  await open.tab.reads("hello");
  expect(await room.said(open.ref)).toEqual([]);
  await open.context.setOffline(false);
  await arrivesOnce(open, ["hello"]);
});

test("sent without a connection, and the page is reloaded before there is one", async () => {
  const open = await openTab();
  room.house.proxy.cut();
  await open.tab.until("to notice", ({ phase }) => phase !== "live");
  await open.tab.send("first");
  await open.tab.send("second");
  await open.tab.until("to keep them", ({ outbox }) => outbox.length === 2);
  await open.tab.reload();
  await open.tab.reads("first");
  await open.tab.reads("second");
  await open.tab.reload();
  await open.tab.reads("second");
  await room.house.proxy.heal();
  await arrivesOnce(open, ["first", "second"]);
});

test("delivered, and the answer is lost", async () => {
  const open = await openTab();
  room.house.proxy.blackhole("toClient");
  await open.tab.send("lost");
  await room.stage.until(open.ref, 60_000, ({ turns }) => (turns.length > 0 ? true : null));
  await room.house.proxy.heal();
  await arrivesOnce(open, ["lost"]);
});

test("delivered, the answer is lost, and the page is reloaded", async () => {
  const open = await openTab();
  room.house.proxy.blackhole("toClient");
  await open.tab.send("gone");
  await room.stage.until(open.ref, 60_000, ({ turns }) => (turns.length > 0 ? true : null));
  await open.tab.until("to keep it", ({ outbox }) => outbox.length === 1);
  await open.tab.reload();
  await room.house.proxy.heal();
  await arrivesOnce(open, ["gone"]);
});

test("sent without a connection, and the page is opened again at another session", async () => {
  const open = await openTab();
  const { ref, context, tab } = open;
  room.house.proxy.cut();
  await tab.until("to notice", ({ phase }) => phase !== "live");
  await tab.send("elsewhere");
  await tab.until("to keep it", ({ outbox }) => outbox.length === 1);
  await tab.close();
  const other = await room.tab(context, await room.session());
  await room.house.proxy.heal();
  await other.live();
  await room.stage.until(ref, 60_000, ({ turns }) => (turns.length > 0 ? true : null));
  await arrivesOnce({ ...open, tab: await room.tab(context, ref) }, ["elsewhere"]);
});
