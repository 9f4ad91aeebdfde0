/**
 * Tests twenty tabs of one browser for ten minutes. They are hidden and shown at random while turns run, messages are
 * sent and the network is cut. Prints how many sockets are open. `TURNSTREAM_SEED` repeats the same actions.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionRef } from "@turnstream/server";
import { readSeed, seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ASKING, LONG_ANSWER } from "./agents.ts";
import { readConsole } from "./artefacts.ts";
import { BrowserSession } from "./browser-session.ts";
import { allowHiding, setHidden } from "./hidden-tabs.ts";
import { compareScreens } from "./story/compare.ts";
import type { Tab } from "./tab.ts";

const TABS = 20;
const SESSIONS = 4;
const RUN_MS = Number(process.env["TURNSTREAM_TABS_MS"] ?? 600_000);
const SAMPLE_MS = 10_000;
/** The hidden tabs learn of an approval and of the end of a turn within this time. */
const NOTICE_MS = 2_000;

/** What a tab records about its session. */
interface Record {
  /** Messages that were visible and then disappeared. */
  readonly lost: string[];
  /** When `onChange` was called first with the end of a turn, or with an approval, by their ids. */
  readonly noticedAt: { [id: string]: number };
}

declare global {
  interface Window {
    record?: Record;
  }
}

let browserSession: BrowserSession;

beforeAll(async () => {
  browserSession = await BrowserSession.open();
});

afterAll(async () => {
  await browserSession?.close();
});

async function startRecording({ page }: Tab): Promise<void> {
  await page.evaluate(() => {
    const record: Record = { lost: [], noticedAt: {} };
    window.record = record;
    const session = window.turnstream?.session;
    if (session === undefined) throw new Error("the page has no session");
    let shown = new Set<string>();
    session.subscribe(() => {
      const { state, outbox } = session.getSnapshot();
      const turns = state.turns.toArray();
      const now = new Set([...state.waiting, ...outbox].map(({ id }) => id));
      for (const { id, message, status, items } of turns) {
        if (message !== null) now.add(message.id);
        if (status !== "running") record.noticedAt[id] ??= Date.now();
        for (const item of items.toArray())
          if (item?.kind === "approval") record.noticedAt[item.key] ??= Date.now();
      }
      for (const id of shown) if (!now.has(id)) record.lost.push(id);
      shown = now;
    });
  });
}

const readRecord = async ({ page }: Tab): Promise<Record> =>
  await page.evaluate(() => window.record ?? { lost: ["the page was reloaded"], noticedAt: {} });

async function send({ page }: Tab, text: string, agentId: string): Promise<void> {
  await page.evaluate(
    ([message, agent]) => void window.turnstream?.session.send({ text: message, agentId: agent }),
    [text, agentId] as const,
  );
}

async function openTabs() {
  const context = await browserSession.openContext();
  await allowHiding(context);
  const refs: SessionRef[] = [];
  for (let n = 0; n < SESSIONS; n++) refs.push(await browserSession.createSession());
  const tabs: { readonly tab: Tab; readonly ref: SessionRef }[] = [];
  for (let n = 0; n < TABS; n++) {
    const ref = refs[n % SESSIONS];
    if (ref === undefined) throw new Error("no session");
    const tab = await browserSession.openTab(context, ref);
    await tab.live();
    await startRecording(tab);
    tabs.push({ tab, ref });
  }
  return { context, refs, tabs };
}

/** Returns the largest delay between an event and the call of `onChange`, for events of the types. */
async function largestDelay(
  tabs: readonly { readonly tab: Tab; readonly ref: SessionRef }[],
  type: "turn.end" | "approval.request",
): Promise<number> {
  let largest = 0;
  for (const { tab, ref } of tabs) {
    const { noticedAt } = await readRecord(tab);
    for (const event of await browserSession.harness.events(ref)) {
      if (event.type !== type) continue;
      const id = event.type === "turn.end" ? event.turn : event.key;
      largest = Math.max(largest, (noticedAt[id] ?? Infinity) - event.at);
    }
  }
  return largest;
}

test("twenty tabs finally show the same, nothing is sent twice, and hidden tabs close their sockets", async () => {
  const seed = readSeed();
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const { environment } = browserSession;
  const { context, refs, tabs } = await openTabs();
  const sent = new Map(refs.map(({ session }) => [session, [] as string[]]));
  console.log(
    `TURNSTREAM_SEED=${seed}; each tab has its own socket at the start: ${environment.connections}`,
  );
  expect(environment.connections).toBe(TABS);

  // All tabs are hidden while turns run: each is told of the approval and of the end.
  for (const ref of refs) {
    const tab = tabs.find((one) => one.ref === ref)?.tab;
    if (tab === undefined) continue;
    sent.get(ref.session)?.push("approval");
    await send(tab, "approval", ASKING);
  }
  for (const { tab } of tabs) await setHidden(tab, true);
  for (const ref of refs) {
    const approval = await browserSession.harness.until(ref, 60_000, ({ turns }) => {
      const item = turns
        .last()
        ?.items.toArray()
        .find((one) => one?.kind === "approval");
      return item?.kind === "approval" ? item.key : null;
    });
    const tab = tabs.find((one) => one.ref === ref)?.tab;
    await tab?.page.evaluate(
      (key) => window.turnstream?.session.decideApproval(key, { decision: "approve" }),
      approval,
    );
    await browserSession.harness.ended(ref, () => true);
  }
  for (const { tab } of tabs)
    await tab.until("the end of the turn", ({ turns }) => turns.at(-1) === "end_turn");
  const delays = [await largestDelay(tabs, "approval.request"), await largestDelay(tabs, "turn.end")];
  console.log(`hidden tabs: onChange after at most ${delays.join(" ms (approval) and ")} ms (end of a turn)`);
  for (const delay of delays) expect(delay).toBeLessThan(NOTICE_MS);

  // A user looks at one or two tabs at a time.
  browserSession.pace.paceMs = 150;
  const hidden = new Set(tabs);
  const samples: number[] = [];
  const start = performance.now();
  let cutUntil: number | null = null;
  let sampledAt = -Infinity;
  let count = 0;
  while (performance.now() - start < RUN_MS) {
    const now = performance.now() - start;
    if (cutUntil !== null && now > cutUntil) {
      await environment.proxy.heal();
      await context.setOffline(false);
      cutUntil = null;
    }
    if (cutUntil === null && now - sampledAt >= SAMPLE_MS) {
      samples.push(environment.connections);
      sampledAt = now;
    }
    const one = tabs[below(TABS)];
    if (one === undefined) continue;
    const dice = random();
    if (dice < 0.35) {
      // Tabs are hidden for about four minutes on average, and shown for twenty seconds.
      const isHidden = hidden.has(one);
      if (isHidden && random() < 0.06) hidden.delete(one);
      else if (!isHidden) hidden.add(one);
      if (hidden.has(one) !== isHidden) await setHidden(one.tab, !isHidden);
    } else if (dice < 0.41) {
      const text = `m${count++}`;
      sent.get(one.ref.session)?.push(text);
      await send(one.tab, text, LONG_ANSWER);
    } else if (dice < 0.42 && cutUntil === null) {
      if (random() < 0.5) environment.proxy.cut();
      else await context.setOffline(true);
      cutUntil = now + below(8_000);
    } else if (dice < 0.43) environment.proxy.cutConnections();
    await sleep(250);
  }
  await environment.proxy.heal();
  await context.setOffline(false);
  browserSession.pace.paceMs = null;
  console.log(`${hidden.size} of ${TABS} tabs are hidden at the end, ${count} messages were sent`);
  console.log(`open sockets every ${SAMPLE_MS / 1_000} s: ${samples.join(" ")}`);
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  console.log(`on average ${mean.toFixed(1)} instead of ${TABS}`);

  for (const { tab } of tabs) await setHidden(tab, false);
  for (const { tab, ref } of tabs) {
    await tab.live();
    await tab.until("the outbox to be empty", ({ outbox }) => outbox.length === 0);
    await browserSession.harness.until(ref, 120_000, ({ waiting, turns }) =>
      waiting.length === 0 && turns.last()?.status !== "running" ? true : null,
    );
  }
  for (const ref of refs) {
    const own = tabs.filter((one) => one.ref === ref);
    const [first, ...others] = own;
    for (const other of others)
      if (first) await compareScreens(first.tab, other.tab, browserSession.readHead(ref));
    const texts = await browserSession.readMessages(ref);
    expect(texts.toSorted(compareTexts)).toEqual(sent.get(ref.session)?.toSorted(compareTexts));
  }
  for (const { tab } of tabs) {
    expect((await readRecord(tab)).lost).toEqual([]);
    expect(readConsole(tab.page).filter((line) => line.startsWith("thrown"))).toEqual([]);
  }

  // Hidden again, all of them close.
  for (const { tab } of tabs) await setHidden(tab, true);
  await until("all sockets to be closed", () => environment.connections === 0, { timeoutMs: 120_000 });
}, 1_500_000);

const compareTexts = (one: string, other: string): number => (one < other ? -1 : 1);
