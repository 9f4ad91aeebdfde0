/** Pages whose network goes and comes back in the middle of an answer: they end with all of it, once. */
import { until } from "@turnstream/testkit/util/until.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { outline } from "../packages/server/test/runtime/turn-harness.ts";
import { answerTo } from "./agents.ts";
import { saidBy } from "./artefacts.ts";
import { Room } from "./browser-context.ts";
import { wordsOf } from "./screen.ts";
import { sameScreens } from "./story/compare.ts";

let room: Room;

beforeAll(async () => {
  room = await Room.open();
});

afterEach(async () => {
  room.pace.paceMs = null;
  await room.house.proxy.heal();
  for (const context of room.browser.contexts()) await context.close();
});

afterAll(async () => {
  await room?.close();
});

/** A tab in the middle of an answer that has more to come. */
async function halfAnswered(question: string) {
  const ref = await room.session();
  const context = await room.person();
  const tab = await room.tab(context, ref);
  await tab.live();
  room.pace.paceMs = 40;
  await tab.send(question);
  await tab.reads(`${question}-5 `);
  return { ref, context, tab };
}

/** It ends as a tab that has only just come. */
async function endsWhole({ ref, tab }: Awaited<ReturnType<typeof halfAnswered>>, question: string) {
  room.pace.paceMs = null;
  await tab.reads(answerTo(question));
  const words = await wordsOf(tab.page);
  expect(words.split(answerTo(question))).toHaveLength(2);
  const fresh = await room.tab(await room.person(), ref);
  await sameScreens(tab, fresh, room.head(ref));
  expect(saidBy(tab.page).filter((line) => line.startsWith("thrown"))).toEqual([]);
}

test("a connection that is cut and comes back", async () => {
  const half = await halfAnswered("cut");
  room.house.proxy.cut();
  await half.tab.until("to notice", ({ phase }) => phase === "waiting" || phase === "connecting");
  // The answer goes on meanwhile.
  await room.stage.until(half.ref, 60_000, ({ turns }) => {
    const [turn] = turns.toArray();
    return turn !== undefined && outline(turn).join(" ").includes("cut-30 ") ? true : null;
  });
  await room.house.proxy.heal();
  await endsWhole(half, "cut");
});

test("connections that are reset again and again", async () => {
  const half = await halfAnswered("reset");
  for (let n = 0; n < 5; n++) {
    await half.tab.live();
    const { accepted } = room.house.proxy.counters();
    room.house.proxy.cutConnections();
    // It may be back before anybody can see that it was away.
    await until("it to notice", () => room.house.proxy.counters().accepted > accepted, { timeoutMs: 60_000 });
  }
  await endsWhole(half, "reset");
});

test("a machine that is offline for a while", async () => {
  const half = await halfAnswered("offline");
  await half.context.setOffline(true);
  await half.tab.until("to notice", ({ phase }) => phase === "offline");
  await half.context.setOffline(false);
  await endsWhole(half, "offline");
});

test("a connection that goes silent without a word", async () => {
  const half = await halfAnswered("silent");
  room.house.proxy.blackhole();
  // Long enough for the answer to have ended on the server.
  room.pace.paceMs = null;
  await room.stage.ended(half.ref, () => true, 60_000);
  await until("it to notice", async () => (await half.tab.view())?.phase !== "live", {
    timeoutMs: 90_000,
    everyMs: 200,
  });
  await room.house.proxy.heal();
  await endsWhole(half, "silent");
}, 240_000);

test("who presses Try now, in whichever tab, doesn't wait for the next attempt", async () => {
  const ref = await room.session();
  const context = await room.person();
  const tabs = [await room.tab(context, ref), await room.tab(context, ref)] as const;
  for (const tab of tabs) await tab.live();
  room.house.proxy.cut();
  const pressed = tabs[1];
  const retryAt = async () =>
    await pressed.page.evaluate(() => {
      const { phase, retryAt: at } = window.turnstream?.session.getSnapshot().connection ?? {};
      return phase === "waiting" && at ? at : 0;
    });
  const now = async () => await pressed.page.evaluate(() => Date.now());
  await until("a long wait", async () => (await retryAt()) - (await now()) > 14_000, {
    timeoutMs: 180_000,
    everyMs: 100,
  });
  const wouldTryAt = await retryAt();
  await room.house.proxy.heal();
  await pressed.page.getByRole("button", { name: "Try now" }).click();
  await pressed.until("to try", ({ phase }) => phase !== "waiting");
  expect(await now()).toBeLessThan(wouldTryAt);
  for (const tab of tabs) await tab.live();
}, 300_000);
