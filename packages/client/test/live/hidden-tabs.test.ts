/**
 * Tests hidden tabs of one browser against a real gateway: they close their connections, still receive the ends of turns
 * and approvals, and show the log when they are visible. tests/browser/hidden-tabs.browser.nightly.test.ts runs for longer.
 */
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { expect, test } from "vitest";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import type { Client } from "../../src/client-interface.ts";
import type { ClientOptions } from "../../src/options.ts";
import type { Session, SessionView } from "../../src/session/session.ts";
import type { ConnectionPhase } from "../../src/transport/status.ts";
import { sharedStorage, type SharedStorage } from "../outbox/stage.ts";
import { FakePageEnv, JumpClock } from "./fast-env.ts";
import { isLive, isOver, LiveGateway, until as untilView } from "./live-gateway.ts";

const MINUTE = 60_000;

class TabPage extends FakePageEnv {
  override readonly onStorage: FakePageEnv["onStorage"];

  constructor(storage: SharedStorage, self: object) {
    super();
    this.onStorage = storage.listen(self);
  }
}

/** The ids of all messages that a view shows. */
function shownMessages({ state, outbox }: SessionView): Set<string> {
  const turns = state.turns.toArray().flatMap(({ message }) => (message === null ? [] : [message.id]));
  return new Set([...turns, ...state.waiting.map(({ id }) => id), ...outbox.map(({ id }) => id)]);
}

class TestTab {
  readonly clock = new JumpClock();
  readonly page: TabPage;
  readonly client: Client;
  readonly session: Session;
  readonly errors: string[] = [];
  readonly phases: ConnectionPhase[] = [];
  /** Messages that were visible and then disappeared. */
  readonly lost: string[] = [];
  #shown = new Set<string>();

  constructor(
    gateway: LiveGateway,
    ref: SessionRef,
    storage: SharedStorage,
    options: Partial<ClientOptions>,
  ) {
    const self = {};
    this.page = new TabPage(storage, self);
    this.client = gateway.client({
      channels: ["websocket"],
      auth: async () => ({ token: await gateway.token() }),
      onError: ({ code, message }) => this.errors.push(`${code} ${message}`),
      onEvent: (event) => event.type === "connection" && this.phases.push(event.connection.phase),
      env: {
        now: this.clock.now,
        setTimer: this.clock.setTimer,
        storage: storage.of(self),
        page: this.page,
      },
      ...options,
    });
    this.session = this.client.session(ref.session);
    this.session.subscribe(() => this.#look());
  }

  #look(): void {
    const shown = shownMessages(this.session.getSnapshot());
    for (const id of this.#shown) if (!shown.has(id)) this.lost.push(id);
    this.#shown = shown;
  }

  async live(): Promise<void> {
    await untilView(this.session, "live", isLive);
  }

  get phase(): ConnectionPhase {
    return this.session.getSnapshot().connection.phase;
  }

  /** Waits until nothing keeps the connection of the hidden tab, and lets a minute pass. */
  async closed(): Promise<void> {
    await until("the connection of a hidden tab to be closed", () => {
      this.clock.jump(MINUTE);
      return this.phase === "hidden";
    });
  }

  /** Forgets the phases so far. */
  restartPhases(): void {
    this.phases.length = 0;
  }
}

async function openTabs(count: number, options: Partial<ClientOptions> = {}) {
  const gateway = await LiveGateway.open();
  const ref = await gateway.stage.session();
  const storage = sharedStorage();
  const tabs = Array.from({ length: count }, () => new TestTab(gateway, ref, storage, options));
  for (const tab of tabs) await tab.live();
  const [first, second] = tabs;
  if (first === undefined || second === undefined) throw new Error("at least two tabs are needed");
  const connections = () => gateway.server.server.stats().connections;
  return { gateway, ref, tabs, first, second, connections };
}

test("a hidden tab closes its connection without an error, and resumes exactly when it is shown", async () => {
  const { gateway, ref, first, second, connections } = await openTabs(2);
  await gateway.stage.ask(ref, "before");
  const { state } = await untilView(second.session, "answered", isOver("before"));
  second.restartPhases();
  second.page.become({ isHidden: true });
  await second.closed();
  await expect.poll(connections).toBe(1);
  first.session.send({ text: "long" });
  await untilView(first.session, "answered", isOver("long"));
  expect([second.session.getSnapshot().state.seq, connections()]).toEqual([state.seq, 1]);
  second.page.become({ isHidden: false });
  const shown = await untilView(second.session, "answered", (view) => isOver("long")(view) && isLive(view));
  expect(shown.state).toEqual(await gateway.stage.state(ref));
  // It resumed, so the first turn is the same object.
  expect(shown.state.turns.get(0)).toBe(state.turns.get(0));
  const phases = second.phases.filter((phase, n, all) => phase !== all[n - 1]);
  expect([phases, second.errors]).toEqual([["hidden", "connecting", "replaying", "live"], []]);
});

test("a hidden tab is called for the approval and the end of a turn, and closes after that", async () => {
  const { first, second, connections } = await openTabs(2);
  first.session.send({ text: "book" });
  await untilView(second.session, "started", ({ state }) => state.turns.length > 0);
  second.page.become({ isHidden: true });
  const called = await untilView(
    second.session,
    "asked",
    ({ state }) => state.turns.last()?.items.last()?.kind === "approval",
  );
  const approval = called.state.turns.last()?.items.last();
  if (approval?.kind !== "approval") throw new Error("no approval");
  second.clock.jump(MINUTE);
  await first.session.decideApproval(approval.key, { decision: "approve" });
  await untilView(second.session, "ended", isOver("book"));
  expect(second.phase).toBe("live");
  await second.closed();
  await expect.poll(connections).toBe(1);
});

test("a message that is added while the connection is closed opens it", async () => {
  const { gateway, ref, first, second } = await openTabs(2);
  second.page.become({ isHidden: true });
  await second.closed();
  const sent = second.session.send({ text: "from afar" });
  await sent.done;
  await untilView(second.session, "answered", isOver("from afar"));
  await untilView(first.session, "answered", isOver("from afar"));
  await second.closed();
  expect([second.errors, (await gateway.stage.state(ref)).turns.length]).toEqual([[], 1]);
});

test("a closed tab sends the message of a tab that was closed before it could", async () => {
  const { gateway, ref, first, second } = await openTabs(2);
  second.page.become({ isHidden: true });
  await second.closed();
  first.page.become({ isOnline: false });
  first.session.send({ text: "left behind" });
  expect(second.phase).toBe("hidden");
  first.client.close();
  second.clock.jump(10_000);
  await untilView(second.session, "answered", isOver("left behind"));
  await second.closed();
  const { turns } = await gateway.stage.state(ref);
  expect(turns.toArray().map(({ message }) => message?.text)).toEqual(["left behind"]);
});

test("a frozen tab closes at once, even during a turn, and continues when it is resumed", async () => {
  const { gateway, ref, first, second, connections } = await openTabs(2);
  first.session.send({ text: "long" });
  await untilView(second.session, "started", ({ state }) => state.turns.length > 0);
  second.page.become({ isHidden: true, isFrozen: true });
  expect(second.session.getSnapshot().connection).toMatchObject({ phase: "hidden", error: null });
  await expect.poll(connections).toBe(1);
  second.page.become({ isFrozen: false });
  const { state } = await untilView(second.session, "ended", isOver("long"));
  expect([state, second.errors]).toEqual([await gateway.stage.state(ref), []]);
});

test("event streams over HTTP/1.1 close during a turn, and over HTTP/2 they don't", async () => {
  const { gateway, ref, first, second, connections } = await openTabs(2, { channels: ["sse"] });
  second.page.hasHttp2 = false;
  // The protocol is read when the stream opens.
  second.page.become({ isFrozen: true });
  second.page.become({ isFrozen: false });
  await second.live();
  first.session.send({ text: "slow" });
  for (const { session } of [first, second])
    await untilView(session, "started", ({ state }) => state.turns.length > 0);
  for (const { page } of [first, second]) page.become({ isHidden: true });
  await second.closed();
  await expect.poll(connections).toBe(1);
  first.clock.jump(MINUTE);
  expect(first.phase).toBe("live");
  await gateway.stage.stop(ref);
  await untilView(first.session, "stopped", isOver("slow"));
});

const ACTS = ["hide", "hide", "hide", "show", "send", "send", "cut", "offline", "freeze", "close"] as const;
const compareTexts = (one: string, other: string): number => (one < other ? -1 : 1);

test("tabs that are hidden, shown, frozen, cut off and closed at random finally show the same, and nothing is sent twice", async () => {
  const { gateway, ref, tabs, first, connections } = await openTabs(8);
  const random = seededRandom(20_261_120);
  const below = (limit: number): number => Math.floor(random() * limit);
  const open = [...tabs];
  const texts: string[] = [];
  for (let n = 0; n < 120; n++) {
    const tab = open[below(open.length)] ?? first;
    switch (ACTS[below(ACTS.length)] ?? "hide") {
      case "hide":
        tab.page.become({ isHidden: true });
        break;
      case "show":
        tab.page.become({ isHidden: false, isFrozen: false, isOnline: true });
        break;
      case "send":
        texts.push(`m${n}`);
        tab.session.send({ text: `m${n}` });
        break;
      case "cut":
        gateway.proxy.cutConnections();
        break;
      case "offline":
        tab.page.become({ isOnline: false });
        break;
      case "freeze":
        tab.page.become({ isHidden: true, isFrozen: true });
        break;
      case "close":
        if (open.length <= 4) break;
        tab.client.close();
        open.splice(open.indexOf(tab), 1);
    }
    // Hidden tabs grow older, and the others have the time to receive and send.
    for (const { page, clock } of open) if (page.isHidden()) clock.jump(below(20_000));
    await new Promise((resolve) => setTimeout(resolve, below(40)));
  }
  expect(open.filter(({ phases }) => phases.includes("hidden")).length).toBeGreaterThan(2);
  for (const { page } of open) page.become({ isHidden: false, isFrozen: false, isOnline: true });
  // A tab sends what others have left behind.
  for (const { clock } of open) clock.jump(10_000);
  for (const { session } of open)
    await untilView(
      session,
      "all answered",
      (view) => isLive(view) && view.outbox.length === 0 && texts.every((text) => isOver(text)(view)),
    );
  const state = await gateway.stage.state(ref);
  const sent = state.turns.toArray().map(({ message }) => message?.text ?? "");
  expect(sent.toSorted(compareTexts)).toEqual(texts.toSorted(compareTexts));
  for (const { session, lost } of open) {
    expect(session.getSnapshot().state).toEqual(state);
    expect(lost).toEqual([]);
  }
  expect(connections()).toBe(open.length);
  for (const tab of open) {
    tab.page.become({ isHidden: true });
    await tab.closed();
  }
  await expect.poll(connections).toBe(0);
});
