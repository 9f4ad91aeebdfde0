/** Tests that tabs which share a connection all show the log, even if other tabs close, crash, freeze or hide. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeBrowser, type FakeTab } from "./fake-browser.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const half = (): number => 0.5;
const positions = (tabs: readonly FakeTab[]): number[] => tabs.map(({ state }) => state.seq);

async function threeTabs(): Promise<{ browser: FakeBrowser; tabs: [FakeTab, FakeTab, FakeTab] }> {
  const browser = new FakeBrowser(half);
  browser.server.write(40);
  const first = browser.open();
  await pass(200);
  const tabs: [FakeTab, FakeTab, FakeTab] = [first, browser.open(), browser.open()];
  await pass(500);
  return { browser, tabs };
}

test("three tabs share one connection, and all receive existing and new events", async () => {
  const { browser, tabs } = await threeTabs();
  expect([browser.connections, positions(tabs)]).toEqual([1, [41, 41, 41]]);
  browser.server.write(25);
  await pass(100);
  expect(positions(tabs)).toEqual([66, 66, 66]);
  expect(tabs.map(({ view }) => view.phase)).toEqual(["live", "live", "live"]);
  expect(browser.problems).toEqual([]);
});

test.each(["close", "crash"] as const)("after a %s of the leader, another tab continues", async (how) => {
  const { browser, tabs } = await threeTabs();
  const [leader, ...others] = tabs;
  browser.server.write(5);
  leader[how]();
  browser.server.write(20);
  await pass(1_000);
  expect([browser.connections, positions(others)]).toEqual([1, [66, 66]]);
  browser.server.write(1);
  await pass(100);
  expect([positions(others), browser.problems]).toEqual([[67, 67], []]);
});

test("a visible tab takes over from a frozen leader, which follows after it thaws", async () => {
  const { browser, tabs } = await threeTabs();
  const [leader, seen, hidden] = tabs;
  hidden.show(false);
  leader.freeze();
  browser.server.write(30);
  await pass(12_000);
  expect([positions([seen, hidden]), seen.transports.length]).toEqual([[71, 71], 1]);
  leader.thaw();
  await pass(1_000);
  expect([browser.connections, positions(tabs), browser.problems]).toEqual([1, [71, 71, 71], []]);
});

test("no tab takes over from a frozen leader while all tabs are hidden", async () => {
  const { browser, tabs } = await threeTabs();
  for (const tab of tabs) tab.show(false);
  tabs[0].freeze();
  await pass(120_000);
  expect(browser.running.map(({ transports }) => transports.length)).toEqual([0, 0]);
});

test("a command of any tab runs once, and that tab gets the reply", async () => {
  const { browser, tabs } = await threeTabs();
  tabs.forEach((tab, n) => tab.send(`m${n}`));
  await pass(500);
  expect(browser.server.commands.toSorted()).toEqual(["m0", "m1", "m2"]);
  expect(tabs.map(({ outcomes }) => outcomes)).toEqual([["m0 done"], ["m1 done"], ["m2 done"]]);
});

test("a command that is in flight when the leader crashes fails with UNSURE", async () => {
  const { browser, tabs } = await threeTabs();
  const [leader, follower] = tabs;
  follower.send("m");
  await pass(25);
  leader.crash();
  await pass(1_000);
  expect(follower.outcomes).toEqual(["m UNSURE"]);
  for (const tab of tabs) tab.crash();
  const late = browser.open();
  late.freeze();
  expect(late.outcomes).toEqual([]);
});

test("a leader that thaws does not run old commands", async () => {
  const { browser, tabs } = await threeTabs();
  const [leader, follower] = tabs;
  leader.freeze();
  follower.show(false);
  tabs[2].show(false);
  follower.send("old");
  await pass(30_000);
  leader.thaw();
  await pass(1_000);
  expect(browser.server.commands).toEqual([]);
});

test("a page that the user leaves and returns to subscribes again", async () => {
  const { browser, tabs } = await threeTabs();
  const [leader, ...others] = tabs;
  leader.leave();
  await pass(500);
  browser.server.write(10);
  await pass(500);
  expect(positions(others)).toEqual([51, 51]);
  leader.comeBack();
  await pass(1_000);
  expect([browser.connections, positions(tabs), browser.problems]).toEqual([1, [51, 51, 51], []]);
});

test("a visible tab takes over from a hidden leader whose connection stalls", async () => {
  const { tabs } = await threeTabs();
  const [leader, seen] = tabs;
  leader.show(false);
  const [link] = leader.transports;
  expect(link?.isOpen).toBe(true);
  leader.stall(Number(vi.getMockedSystemTime()) + 1_000);
  await pass(8_000);
  expect([link?.isOpen, seen.transports.length + tabs[2].transports.length]).toEqual([false, 1]);
});

test("a tab that was frozen until the leader removed it subscribes again", async () => {
  const { browser, tabs } = await threeTabs();
  const [leader, sleeper, other] = tabs;
  other.close();
  sleeper.freeze();
  await pass(11 * 60_000);
  browser.server.write(10);
  await pass(100);
  sleeper.thaw();
  await pass(1_000);
  expect([positions([leader, sleeper]), browser.problems]).toEqual([[51, 51], []]);
});

test("a tab whose cursor is older than the new leader's buffer gets a snapshot", async () => {
  const { browser, tabs } = await threeTabs();
  const [first, second, third] = tabs;
  third.leave();
  browser.server.write(10);
  await pass(100);
  first.crash();
  await pass(1_000);
  browser.server.write(10);
  await pass(100);
  third.comeBack();
  await pass(1_000);
  expect([positions([second, third]), browser.problems]).toEqual([[61, 61], []]);
});

type Act =
  | { readonly type: "open" | "write" | "wait" | "drop"; readonly n: number }
  | {
      readonly type: "close" | "crash" | "freeze" | "thaw" | "hide" | "show" | "send" | "leave" | "back";
      readonly n: number;
    };

const act = fc.record({
  type: fc.constantFrom<Act["type"]>(
    ...(["open", "open", "write", "write", "write", "wait", "wait", "drop"] as const),
    ...(["close", "crash", "freeze", "thaw", "hide", "show", "send", "leave", "back"] as const),
  ),
  n: fc.nat(40),
});

async function play(browser: FakeBrowser, { type, n }: Act): Promise<void> {
  const { tabs } = browser;
  const tab = tabs[n % Math.max(1, tabs.length)];
  const isRunning = tab?.life === "running";
  if (type === "open" && browser.running.length < 6) browser.open();
  if (type === "write") browser.server.write(n);
  if (type === "wait") await pass(n * n * 5);
  if (type === "thaw") tab?.thaw();
  if (type === "back") tab?.comeBack();
  if (!isRunning || tab === undefined) return;
  if (type === "drop") tab.dropConnection();
  if (type === "close") tab.close();
  if (type === "crash") tab.crash();
  if (type === "freeze") tab.freeze();
  if (type === "hide" || type === "show") tab.show(type === "show");
  if (type === "leave") tab.leave();
  if (type === "send") tab.send(`m${browser.server.commands.length}-${n}`);
  await pass(n % 7);
}

test("no tab ever receives a gap or a duplicate, and finally all tabs show the same over one connection", async () => {
  const run = fc.asyncProperty(
    fc.array(act, { minLength: 5, maxLength: 60 }),
    fc.infiniteStream(fc.nat(999)),
    async (acts, dice) => {
      const browser = new FakeBrowser(() => (dice.next().value as number) / 1000);
      browser.server.write(20);
      browser.open();
      // Only a frozen or left tab can have a second connection open.
      const canSleep = acts.some(({ type }) => type === "freeze" || type === "leave");
      for (const one of acts) {
        await play(browser, one);
        if (!canSleep) expect(browser.connections).toBeLessThanOrEqual(1);
      }
      for (const tab of browser.tabs) tab.comeBack();
      if (browser.running.length === 0) browser.open();
      for (const tab of browser.running) tab.show(true);
      await pass(30_000);
      browser.server.write(3);
      await pass(2_000);
      expect(browser.problems).toEqual([]);
      expect(browser.connections).toBe(1);
      const whole = JSON.stringify(browser.server.state);
      for (const tab of browser.running) {
        expect(JSON.stringify(tab.state)).toBe(whole);
        expect(tab.view.phase).toBe("live");
      }
      const all = browser.tabs.flatMap(({ outcomes }) => outcomes);
      const done = all.filter((outcome) => outcome.endsWith(" done")).map((outcome) => outcome.slice(0, -5));
      for (const text of done) expect(browser.server.commands).toContain(text);
      for (const tab of browser.tabs) tab.crash();
      vi.clearAllTimers();
    },
  );
  await fc.assert(run, { numRuns: 200 });
});

test("tabs connect alone while the user is unknown, and share a connection afterwards", async () => {
  const browser = new FakeBrowser(half);
  browser.isNamed = false;
  browser.server.write(10);
  const tabs = [browser.open(), browser.open(), browser.open()];
  await pass(500);
  expect([browser.connections, positions(tabs)]).toEqual([3, [11, 11, 11]]);
  browser.isNamed = true;
  for (const tab of tabs) tab.transport.onUserKnown();
  browser.server.write(20);
  await pass(1_000);
  expect([browser.connections, positions(tabs), browser.problems]).toEqual([1, [31, 31, 31], []]);
  tabs[1]?.send("m");
  await pass(500);
  expect(tabs[1]?.outcomes).toEqual(["m done"]);
});
