/**
 * `FakeBrowser` simulates a browser with tabs that open, close, crash, freeze and hide, with a delayed message channel,
 * locks, and a server with one log. Each tab folds its events and reports every event that isn't the next one in
 * `problems`. Timers are vitest's fake timers.
 */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import {
  type Cursor,
  emptyState,
  type SessionEvent,
  fold,
  foldAll,
  formatCursor,
  classifyEvent,
  restore,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import { coalesce } from "@turnstream/protocol/writer";
import { type ConnectionView, INITIAL_CONNECTION } from "../../src/transport/status.ts";
import { ClientError } from "../../src/errors.ts";
import type {
  Transport,
  TransportCommand,
  SubscriptionHandler,
  Subscription,
} from "../../src/transport/transport.ts";
import type { PageEnv } from "../../src/env.ts";
import type { PageLifecycle, SharedTransport, Tabs } from "../../src/tabs/types.ts";
import { NO_REPORTS } from "../../src/report.ts";
import { createTabTransport } from "../../src/tabs/tab-transport-chunk.ts";
import { FakePageEnv } from "../live/fast-env.ts";

export const SESSION = "ses_market";

/** Returns a long valid log that the server publishes step by step. */
function longLog(): readonly SessionEvent[] {
  const log = new LogWriter().session(SESSION);
  for (let turn = 0; turn < 6; turn += 1)
    log
      .begin(`Question ${turn}`)
      .text(
        Array.from({ length: 60 }, (_, n) => `word ${turn}.${n} `),
        { final: true },
      )
      .end();
  return log.events;
}
const LOG = longLog();

export class FakeServer {
  head = 1;
  readonly commands: string[] = [];
  readonly transports = new Set<{ published(event: SessionEvent): void }>();

  get state(): SessionState {
    return foldAll(LOG.slice(0, this.head), emptyState);
  }
  write(count: number): void {
    for (let n = 0; n < count && this.head < LOG.length; n += 1) {
      const event = LOG[this.head]!;
      this.head += 1;
      for (const transport of this.transports) transport.published(event);
    }
  }
  /** Returns null if the log has no entry at the cursor. */
  after(cursor: Cursor): readonly SessionEvent[] | null {
    const at = LOG.findIndex(({ id }) => id === cursor);
    return at < 0 || at >= this.head ? null : LOG.slice(at + 1, this.head);
  }
}

type Subscribed = {
  readonly cursor: () => Cursor | null;
  readonly handler: SubscriptionHandler;
  isLive: boolean;
};

/** A connection of one tab. It delivers all events in order, with a delay, and only while its tab runs. */
class FakeTransport implements Transport {
  readonly #server: FakeServer;
  readonly #tab: FakeTab;
  #subscribed: Subscribed | null = null;
  #generation = 0;
  isOpen = true;

  constructor(server: FakeServer, tab: FakeTab) {
    this.#server = server;
    this.#tab = tab;
    server.transports.add(this);
  }

  subscribe(_session: string, cursor: () => Cursor | null, handler: SubscriptionHandler) {
    this.#subscribed = { cursor, handler, isLive: false };
    handler.onConnection({ ...INITIAL_CONNECTION, phase: "connecting" });
    this.#subscribe();
    return { resync: () => this.#subscribe(), unsubscribe: () => void (this.#subscribed = null) };
  }

  /** Breaks the connection and reconnects. */
  drop(): void {
    this.#subscribe();
  }

  stall(retryAt: number): void {
    this.#generation += 1;
    this.#subscribed?.handler.onConnection({ ...INITIAL_CONNECTION, phase: "waiting", retryAt });
  }

  #subscribe(): void {
    const subscribed = this.#subscribed;
    if (subscribed === null) return;
    subscribed.isLive = false;
    const generation = ++this.#generation;
    this.#tab.setTimer(() => {
      if (!this.isOpen || this.#subscribed !== subscribed || generation !== this.#generation) return;
      const cursor = subscribed.cursor();
      const after = cursor === null ? null : this.#server.after(cursor);
      subscribed.isLive = true;
      if (after === null) {
        subscribed.handler.onSubscribed({ resumed: false, reason: cursor === null ? "fresh" : "invalid" });
        const { state } = this.#server;
        subscribed.handler.onSnapshot(toWire(snapshot(state)), formatCursor(state));
      } else {
        subscribed.handler.onSubscribed({ resumed: true, reason: "cursor" });
        subscribed.handler.onEvents(coalesce(after));
      }
      subscribed.handler.onConnection({ ...INITIAL_CONNECTION, phase: "live", channel: "websocket" });
    }, 30);
  }

  published(event: SessionEvent): void {
    const [subscribed, generation] = [this.#subscribed, this.#generation];
    if (subscribed?.isLive !== true) return;
    this.#tab.setTimer(() => {
      if (this.isOpen && this.#subscribed === subscribed && generation === this.#generation)
        subscribed.handler.onEvents([event]);
    }, 5);
  }

  command(command: TransportCommand): ReturnType<Transport["command"]> {
    return new Promise((resolve, reject) => {
      this.#tab.setTimer(() => {
        if (!this.isOpen) return reject(new ClientError("UNSURE", "lost"));
        this.#server.commands.push(command.type === "send" ? command.text : command.type);
        this.#tab.setTimer(() => (this.isOpen ? resolve({}) : reject(new ClientError("UNSURE", "lost"))), 10);
      }, 10);
    });
  }

  request(): Promise<Response> {
    return new Promise((resolve) => {
      this.#tab.setTimer(() => {
        const { state } = this.#server;
        resolve(
          Response.json({ session_id: SESSION, event_id: formatCursor(state), snapshot: snapshot(state) }),
        );
      }, 20);
    });
  }

  close(): void {
    this.isOpen = false;
    this.#server.transports.delete(this);
  }
}

function toWire<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

interface Waiter {
  readonly tab: FakeTab;
  readonly onGranted: () => void;
  readonly onTaken: () => void;
}

export class FakeBrowser {
  readonly server = new FakeServer();
  readonly tabs: FakeTab[] = [];
  readonly problems: string[] = [];
  /** False while the signed-in user is unknown, as when the app can't be reached. */
  isNamed = true;
  readonly random: () => number;
  /** Creates the transport of a tab. @default a `FakeTransport` */
  createTransport: ((tab: FakeTab, page: PageEnv) => Transport) | null = null;
  #holder: Waiter | null = null;
  #waiting: Waiter[] = [];

  constructor(random: () => number) {
    this.random = random;
  }

  open(): FakeTab {
    const tab = new FakeTab(this, this.tabs.length);
    this.tabs.push(tab);
    return tab;
  }
  get running(): FakeTab[] {
    return this.tabs.filter(({ life }) => life === "running");
  }
  /** The number of open connections of running tabs. */
  get connections(): number {
    return this.running.reduce((sum, tab) => sum + tab.transports.filter(({ isOpen }) => isOpen).length, 0);
  }

  requestLock(waiter: Waiter, isStolen: boolean): { release(): void } {
    if (isStolen) {
      const old = this.#holder;
      this.#holder = waiter;
      if (old !== null) old.tab.task(old.onTaken);
      waiter.tab.task(waiter.onGranted);
    } else {
      this.#waiting.push(waiter);
      this.#next();
    }
    return { release: () => this.#release((one) => one === waiter) };
  }
  releaseAll(tab: FakeTab): void {
    this.#release((one) => one.tab === tab);
  }
  #release(matches: (waiter: Waiter) => boolean): void {
    this.#waiting = this.#waiting.filter((one) => !matches(one));
    if (this.#holder === null || !matches(this.#holder)) return;
    this.#holder = null;
    this.#next();
  }
  #next(): void {
    if (this.#holder !== null) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#holder = next;
    next.tab.task(next.onGranted);
  }
}

export class FakeTab {
  readonly #browser: FakeBrowser;
  readonly name: string;
  readonly transports: FakeTransport[] = [];
  readonly transport: SharedTransport;
  life: "running" | "frozen" | "cached" | "closed" = "running";
  isVisible = true;
  readonly page = new FakePageEnv(true);
  readonly #subscription: Subscription;
  #needsSnapshot = false;
  state: SessionState = emptyState;
  view: ConnectionView = INITIAL_CONNECTION;
  readonly outcomes: string[] = [];
  #on: Parameters<PageLifecycle["listen"]>[0] | null = null;
  #onMessage: ((message: unknown) => void) | null = null;
  readonly #backlog: (() => void)[] = [];
  readonly #arrivals = new Map<FakeTab, number>();
  #ids = 0;

  constructor(browser: FakeBrowser, n: number) {
    this.#browser = browser;
    this.name = `tab-${n}`;
    const tabs: Tabs = {
      openChannel: (_name, onMessage) => {
        this.#onMessage = onMessage;
        return {
          post: (message) => {
            for (const tab of browser.tabs) if (tab !== this) tab.#receive(this, toWire(message));
          },
          close: () => void (this.#onMessage = null),
        };
      },
      requestLock: (_name, { steal, ...waiter }) => browser.requestLock({ tab: this, ...waiter }, steal),
    };
    this.transport = createTabTransport({
      getChannelName: () =>
        browser.isNamed ? Promise.resolve("here") : Promise.reject(new Error("offline")),
      createTransport: (page = this.page) => {
        if (browser.createTransport !== null) return browser.createTransport(this, page);
        const transport = new FakeTransport(browser.server, this);
        this.transports.push(transport);
        return transport;
      },
      request: () => Promise.reject(new Error("unused")),
      report: NO_REPORTS,
      tabs,
      lifecycle: {
        isVisible: () => this.isVisible,
        listen: (on) => {
          this.#on = on;
          return () => void (this.#on = null);
        },
      },
      env: {
        now: () => Date.now(),
        random: browser.random,
        createId: () => `${this.name}.${++this.#ids}`,
        setTimer: (run, ms) => this.setTimer(run, ms),
        page: this.page,
      },
    });
    const cursor = (): Cursor | null =>
      this.#needsSnapshot || this.state.seq === 0 ? null : formatCursor(this.state);
    this.#subscription = this.transport.subscribe(SESSION, cursor, {
      onConnection: (view) => void (this.view = view),
      onSubscribed: () => {},
      onSnapshot: (from) => {
        this.state = restore(from);
        this.#needsSnapshot = false;
      },
      onEvents: (events) => this.#onEvents(events),
      onClockSkew: () => {},
    });
  }

  #onEvents(events: readonly SessionEvent[]): void {
    for (const event of events) {
      const place = classifyEvent(this.state, event);
      if (place !== "next")
        this.#browser.problems.push(`${this.name} at ${formatCursor(this.state)} got ${event.id}: ${place}`);
      this.state = fold(this.state, event);
    }
  }

  #receive(from: FakeTab, message: unknown): void {
    // Messages are delayed, but those of one sender arrive in order.
    const at = Math.max(this.#arrivals.get(from) ?? 0, Date.now() + Math.floor(this.#browser.random() * 20));
    this.#arrivals.set(from, at);
    // Like Chromium, drop messages to a page that doesn't run.
    setTimeout(() => this.life === "running" && this.#onMessage?.(message), at - Date.now());
  }

  /** Runs a task in this tab: now if the tab runs, after it thaws if it is frozen, never if it is closed. */
  task(run: () => void): void {
    if (this.life === "closed") return;
    if (this.life !== "running") this.#backlog.push(run);
    else run();
  }
  setTimer(run: () => void, ms: number): () => void {
    const timer = setTimeout(() => this.task(run), ms);
    return () => clearTimeout(timer);
  }

  /** Does what a session does when the user presses "Try now". */
  refresh(): void {
    this.#needsSnapshot = true;
    this.#subscription.resync();
  }
  send(text: string): void {
    this.transport.command({ type: "send", session_id: SESSION, client_message_id: text, text }).then(
      () => this.outcomes.push(`${text} done`),
      (error: ClientError) => this.outcomes.push(`${text} ${error.code}`),
    );
  }
  dropConnection(): void {
    for (const transport of this.transports) if (transport.isOpen) transport.drop();
  }
  /** Loses the connections of the tab without ever retrying. */
  stall(retryAt: number): void {
    for (const transport of this.transports) if (transport.isOpen) transport.stall(retryAt);
  }
  close(): void {
    this.#on?.onLeave();
    this.crash();
  }
  crash(): void {
    this.life = "closed";
    for (const transport of this.transports) transport.close();
    this.#browser.releaseAll(this);
  }
  freeze(): void {
    if (this.life !== "running") return;
    this.show(false);
    this.life = "frozen";
  }
  thaw(): void {
    if (this.life !== "frozen") return;
    this.life = "running";
    for (const run of this.#backlog.splice(0)) this.task(run);
    this.show(true);
  }
  show(isVisible: boolean): void {
    this.isVisible = isVisible;
    this.page.become({ isHidden: !isVisible });
    this.#on?.onVisible(isVisible);
  }
  /** The user leaves the page, and the browser caches it (back/forward cache). */
  leave(): void {
    this.#on?.onLeave();
    this.#browser.releaseAll(this);
    this.life = "cached";
  }
  comeBack(): void {
    if (this.life !== "cached") return this.thaw();
    this.life = "frozen";
    this.thaw();
    this.#on?.onShow();
  }
}
