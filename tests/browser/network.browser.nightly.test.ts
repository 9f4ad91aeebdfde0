/**
 * Tests pages whose network fails and recovers in the middle of an answer. In the end they show the whole answer, once.
 */
import { until } from "@turnstream/testkit/util/until.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { outline } from "../../packages/server/test/engine/turn-harness.ts";
import { answerTo } from "./agents.ts";
import { readConsole } from "./artefacts.ts";
import { BrowserSession } from "./browser-session.ts";
import { readText } from "./screen.ts";
import { compareScreens } from "./story/compare.ts";

let browserSession: BrowserSession;

beforeAll(async () => {
  browserSession = await BrowserSession.open();
});

afterEach(async () => {
  browserSession.pace.paceMs = null;
  await browserSession.environment.proxy.heal();
  for (const context of browserSession.browser.contexts()) await context.close();
});

afterAll(async () => {
  await browserSession?.close();
});

/** Opens a tab and waits until its answer is half streamed. */
async function halfAnswered(question: string) {
  const ref = await browserSession.createSession();
  const context = await browserSession.openContext();
  const tab = await browserSession.openTab(context, ref);
  await tab.live();
  browserSession.pace.paceMs = 40;
  await tab.send(question);
  await tab.reads(`${question}-5 `);
  return { ref, context, tab };
}

/** Waits for the end of the answer, and compares the tab with one that was just opened. */
async function endsWhole({ ref, tab }: Awaited<ReturnType<typeof halfAnswered>>, question: string) {
  browserSession.pace.paceMs = null;
  await tab.reads(answerTo(question));
  const text = await readText(tab.page);
  expect(text.split(answerTo(question))).toHaveLength(2);
  const fresh = await browserSession.openTab(await browserSession.openContext(), ref);
  await compareScreens(tab, fresh, browserSession.readHead(ref));
  expect(readConsole(tab.page).filter((line) => line.startsWith("thrown"))).toEqual([]);
}

test("a connection that is cut and restored", async () => {
  const half = await halfAnswered("cut");
  browserSession.environment.proxy.cut();
  await half.tab.until(
    "the tab to notice the lost connection",
    ({ phase }) => phase === "waiting" || phase === "connecting",
  );
  // The answer continues meanwhile.
  await browserSession.harness.until(half.ref, 60_000, ({ turns }) => {
    const [turn] = turns.toArray();
    return turn !== undefined && outline(turn).join(" ").includes("cut-30 ") ? true : null;
  });
  await browserSession.environment.proxy.heal();
  await endsWhole(half, "cut");
});

test("connections that are reset repeatedly", async () => {
  const half = await halfAnswered("reset");
  for (let n = 0; n < 5; n++) {
    await half.tab.live();
    const { accepted } = browserSession.environment.proxy.counters();
    browserSession.environment.proxy.cutConnections();
    // The tab may reconnect before a change of its phase is visible, so count accepted connections instead.
    await until(
      "the tab to notice the lost connection",
      () => browserSession.environment.proxy.counters().accepted > accepted,
      {
        timeoutMs: 60_000,
      },
    );
  }
  await endsWhole(half, "reset");
});

test("a machine that is offline for a while", async () => {
  const half = await halfAnswered("offline");
  await half.context.setOffline(true);
  await half.tab.until("the tab to notice the lost connection", ({ phase }) => phase === "offline");
  await half.context.setOffline(false);
  await endsWhole(half, "offline");
});

test("a connection that stops transmitting without closing", async () => {
  const half = await halfAnswered("silent");
  browserSession.environment.proxy.blackhole();
  // Lets the answer end on the server.
  browserSession.pace.paceMs = null;
  await browserSession.harness.ended(half.ref, () => true, 60_000);
  await until(
    "the tab to notice the lost connection",
    async () => (await half.tab.view())?.phase !== "live",
    {
      timeoutMs: 90_000,
      everyMs: 200,
    },
  );
  await browserSession.environment.proxy.heal();
  await endsWhole(half, "silent");
}, 240_000);

test("Retry now reconnects immediately, in whichever tab it is pressed", async () => {
  const ref = await browserSession.createSession();
  const context = await browserSession.openContext();
  const tabs = [
    await browserSession.openTab(context, ref),
    await browserSession.openTab(context, ref),
  ] as const;
  for (const tab of tabs) await tab.live();
  browserSession.environment.proxy.cut();
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
  await browserSession.environment.proxy.heal();
  await pressed.page.getByRole("button", { name: "Retry now" }).click();
  await pressed.until("the tab to reconnect", ({ phase }) => phase !== "waiting");
  expect(await now()).toBeLessThan(wouldTryAt);
  for (const tab of tabs) await tab.live();
}, 300_000);
