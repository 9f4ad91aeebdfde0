/** Tests tabs that share a real network transport while the server is silent, down, busy or has deleted the session. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeBrowser, type FakeTab } from "./fake-browser.ts";
import { FakeWires } from "./fake-channels.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const half = (): number => 0.5;

async function tabsOn(
  count: number,
): Promise<{ browser: FakeBrowser; channels: FakeWires; tabs: FakeTab[] }> {
  const browser = new FakeBrowser(half);
  const channels = new FakeWires(browser);
  browser.server.write(40);
  const tabs: FakeTab[] = [];
  for (let n = 0; n < count; n++) {
    tabs.push(browser.open());
    await pass(500);
  }
  expect(tabs.map(({ view, state }) => [view.phase, state.seq])).toEqual(tabs.map(() => ["live", 41]));
  return { browser, channels, tabs };
}

const seqs = (tabs: readonly FakeTab[]): number[] => tabs.map(({ state }) => state.seq);

test("a silent socket of a hidden tab is replaced while another tab is visible", async () => {
  const { browser, channels, tabs } = await tabsOn(2);
  tabs[0]?.show(false);
  await pass(1_000);
  channels.goSilent();
  browser.server.write(10);
  await pass(60_000);
  expect([seqs(tabs), channels.opened]).toEqual([[51, 51], 2]);
});

test("a silent socket is not probed while all tabs are hidden, and is probed once a tab is visible", async () => {
  const { browser, channels, tabs } = await tabsOn(2);
  for (const tab of tabs) tab.show(false);
  await pass(1_000);
  channels.goSilent();
  browser.server.write(10);
  await pass(10 * 60_000);
  expect(channels.opened).toBe(1);
  tabs[1]?.show(true);
  await pass(20_000);
  expect([seqs(tabs), channels.opened]).toEqual([[51, 51], 2]);
});

test("a closed tab no longer counts as visible, so a silent socket is not probed", async () => {
  const { channels, tabs } = await tabsOn(2);
  tabs[0]?.show(false);
  await pass(1_000);
  tabs[1]?.close();
  await pass(1_000);
  channels.goSilent();
  await pass(10 * 60_000);
  expect(channels.opened).toBe(1);
});

/** Waits until the next attempt is more than 15 seconds away. */
async function waitingLong(tab: FakeTab): Promise<void> {
  for (let n = 0; n < 600; n++) {
    const { phase, retryAt } = tab.view;
    if (phase === "waiting" && (retryAt ?? 0) - Number(vi.getMockedSystemTime()) > 15_000) return;
    await pass(500);
  }
  throw new Error(`the backoff never exceeded 15 seconds: ${JSON.stringify(tab.view)}`);
}

test.for([
  ["the only tab", 1, 0],
  ["the tab with the connection", 2, 0],
  ["another tab", 2, 1],
] as const)("a refresh in %s connects without waiting for the backoff", async ([, count, who]) => {
  const { browser, channels, tabs } = await tabsOn(count);
  channels.goDown();
  browser.server.write(10);
  await waitingLong(tabs[who]!);
  channels.isDown = false;
  tabs[who]!.refresh();
  await pass(1_000);
  expect(tabs.map(({ view }) => view.phase)).toEqual(tabs.map(() => "live"));
  expect([seqs(tabs), browser.problems]).toEqual([tabs.map(() => 51), []]);
});

test("a refresh while the server is down doesn't increase the rate of requests", async () => {
  const { channels, tabs } = await tabsOn(2);
  channels.goDown();
  await waitingLong(tabs[1]!);
  tabs[1]!.refresh();
  await pass(1_000);
  channels.requests.length = 0;
  await pass(5 * 60_000);
  expect(channels.count("/snapshot")).toBeLessThan(20);
  expect(channels.count("/tickets")).toBeLessThan(20);
  channels.isDown = false;
  await pass(40_000);
  expect(tabs.map(({ view }) => view.phase)).toEqual(["live", "live"]);
});

test("a refresh connects even if the browser reports no network", async () => {
  const { channels, tabs } = await tabsOn(1);
  channels.goDown();
  tabs[0]!.page.become({ isOnline: false });
  await pass(1_000);
  expect(tabs[0]!.view.phase).toBe("offline");
  channels.isDown = false;
  tabs[0]!.refresh();
  await pass(1_000);
  expect(tabs[0]!.view.phase).toBe("live");
});

test("a rate-limited snapshot for a new tab is requested again after the server's retry delay", async () => {
  const { browser, channels, tabs } = await tabsOn(1);
  const busy = { error: "RATE_LIMITED", message: "Later.", can_retry: true, retry_after_seconds: 30 };
  channels.snapshotAnswer = () => Response.json(busy, { status: 429 });
  tabs.push(browser.open());
  channels.requests.length = 0;
  await pass(5 * 60_000);
  expect(channels.count("/snapshot")).toBe(10);
  channels.snapshotAnswer = null;
  await pass(31_000);
  expect(seqs(tabs)).toEqual([41, 41]);
  // There may be one more request if the tab asked again just before the response arrived.
  const asked = channels.count("/snapshot");
  expect(asked).toBeLessThanOrEqual(12);
  await pass(5 * 60_000);
  expect(channels.count("/snapshot")).toBe(asked);
});

test("a new tab of a deleted session causes at most one request", async () => {
  const { browser, channels, tabs } = await tabsOn(1);
  channels.erase();
  await pass(100);
  tabs.push(browser.open());
  channels.requests.length = 0;
  await pass(5 * 60_000);
  expect(channels.count("/snapshot")).toBeLessThanOrEqual(1);
  expect(tabs.map(({ view }) => [view.phase, view.error?.code])).toEqual([
    ["closed", "NOT_FOUND"],
    ["closed", "NOT_FOUND"],
  ]);
});

test("a snapshot that is refused permanently is loaded over the connection", async () => {
  const { browser, channels, tabs } = await tabsOn(1);
  const refused = { error: "FORBIDDEN", message: "Not so.", can_retry: false };
  channels.snapshotAnswer = () => Response.json(refused, { status: 403 });
  tabs.push(browser.open());
  await pass(1_000);
  expect([seqs(tabs), channels.count("/snapshot")]).toEqual([[41, 41], 1]);
});
