/**
 * A browser with tabs that open, close, crash, freeze and hide, a channel that takes its time, locks, and a server with one
 * log. What each tab shows is folded, and every event is held against where the tab stands. Time is vitest's.
 */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import {
  coalesce,
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
import { type ConnectionView, NOT_CONNECTED } from "../../src/transport/status.ts";
import { ClientError } from "../../src/errors.ts";
import type { Link, LinkCommand, LinkHandler, Watch } from "../../src/transport/transport.ts";
import type { Outside } from "../../src/env.ts";
import type { Page, Tabs } from "../../src/tabs/types.ts";
import { sharedLink } from "../../src/tabs/tab-transport-chunk.ts";
import type { Shared } from "../../src/tabs/types.ts";
import { FakeOutside } from "../live/fast-env.ts";

export const SESSION = "ses_market";

/** A long legal log, to be let out bit by bit. */
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
  readonly links = new Set<{ published(event: SessionEvent): void }>();

  get state(): SessionState {
    return foldAll(LOG.slice(0, this.head), emptyState);
  }
  write(count: number): void {
    for (let n = 0; n < count && this.head < LOG.length; n += 1) {
      const event = LOG[this.head]!;
      this.head += 1;
      for (const link of this.links) link.published(event);
    }
  }
  /** Null where the cursor isn't an entry. */
  after(cursor: Cursor): readonly SessionEvent[] | null {
    const at = LOG.findIndex(({ id }) => id === cursor);
    return at < 0 || at >= this.head ? null : LOG.slice(at + 1, this.head);
  }
}

type Watched = { readonly cursor: () => Cursor | null; readonly handler: LinkHandler; isLive: boolean };

/** A connection of one tab: dense, in order, and late. What it does happens only while its tab runs. */
class FakeLink implements Link {
  readonly #server: FakeServer;
  readonly #tab: FakeTab;
  #watched: Watched | null = null;
  #generation = 0;
  isOpen = true;

  constructor(server: FakeServer, tab: FakeTab) {
    this.#server = server;
    this.#tab = tab;
    server.links.add(this);
  }

  watch(_session: string, cursor: () => Cursor | null, handler: LinkHandler) {
    this.#watched = { cursor, handler, isLive: false };
    handler.connection({ ...NOT_CONNECTED, phase: "connecting" });
    this.#subscribe();
    return { again: () => this.#subscribe(), stop: () => void (this.#watched = null) };
  }

  /** The connection breaks, and comes back. */
  drop(): void {
    this.#subscribe();
  }

  stall(retryAt: number): void {
    this.#generation += 1;
    this.#watched?.handler.connection({ ...NOT_CONNECTED, phase: "waiting", retryAt });
  }

  #subscribe(): void {
    const watched = this.#watched;
    if (watched === null) return;
    watched.isLive = false;
    const generation = ++this.#generation;
    this.#tab.setTimer(() => {
      if (!this.isOpen || this.#watched !== watched || generation !== this.#generation) return;
      const cursor = watched.cursor();
      const after = cursor === null ? null : this.#server.after(cursor);
      watched.isLive = true;
      if (after === null) {
        watched.handler.begun({ resumed: false, reason: cursor === null ? "fresh" : "invalid" });
        const { state } = this.#server;
        watched.handler.snapshot(toWire(snapshot(state)), formatCursor(state));
      } else {
        watched.handler.begun({ resumed: true, reason: "cursor" });
        watched.handler.events(coalesce(after));
      }
      watched.handler.connection({ ...NOT_CONNECTED, phase: "live", wire: "socket" });
    }, 30);
  }

  published(event: SessionEvent): void {
    const [watched, generation] = [this.#watched, this.#generation];
    if (watched?.isLive !== true) return;
    this.#tab.setTimer(() => {
      if (this.isOpen && this.#watched === watched && generation === this.#generation)
        watched.handler.events([event]);
    }, 5);
  }

  command(command: LinkCommand): ReturnType<Link["command"]> {
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
    this.#server.links.delete(this);
  }
}

function toWire<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

interface Waiter {
  readonly tab: FakeTab;
  readonly granted: () => void;
  readonly taken: () => void;
}

export class FakeBrowser {
  readonly server = new FakeServer();
  readonly tabs: FakeTab[] = [];
  readonly problems: string[] = [];
  /** Whether anybody can say who is signed in. */
  isNamed = true;
  readonly random: () => number;
  /** What its tabs connect by; unless given, by something that only does as if. */
  makeLink: ((tab: FakeTab, outside: Outside) => Link) | null = null;
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
  /** Connections of tabs that run. */
  get connections(): number {
    return this.running.reduce((sum, tab) => sum + tab.links.filter(({ isOpen }) => isOpen).length, 0);
  }

  requestLock(waiter: Waiter, isStolen: boolean): { release(): void } {
    if (isStolen) {
      const old = this.#holder;
      this.#holder = waiter;
      if (old !== null) old.tab.task(old.taken);
      waiter.tab.task(waiter.granted);
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
    next.tab.task(next.granted);
  }
}

export class FakeTab {
  readonly #browser: FakeBrowser;
  readonly name: string;
  readonly links: FakeLink[] = [];
  readonly link: Shared;
  life: "running" | "frozen" | "kept" | "gone" = "running";
  isVisible = true;
  readonly outside = new FakeOutside(true);
  readonly #watch: Watch;
  #isLost = false;
  state: SessionState = emptyState;
  view: ConnectionView = NOT_CONNECTED;
  readonly outcomes: string[] = [];
  #on: Parameters<Page["listen"]>[0] | null = null;
  #heard: ((message: unknown) => void) | null = null;
  readonly #backlog: (() => void)[] = [];
  readonly #arrivals = new Map<FakeTab, number>();
  #ids = 0;

  constructor(browser: FakeBrowser, n: number) {
    this.#browser = browser;
    this.name = `tab-${n}`;
    const tabs: Tabs = {
      openChannel: (_name, heard) => {
        this.#heard = heard;
        return {
          post: (message) => {
            for (const tab of browser.tabs) if (tab !== this) tab.#receive(this, toWire(message));
          },
          close: () => void (this.#heard = null),
        };
      },
      requestLock: (_name, { isStolen, ...waiter }) =>
        browser.requestLock({ tab: this, ...waiter }, isStolen),
    };
    this.link = sharedLink({
      name: () => (browser.isNamed ? Promise.resolve("here") : Promise.reject(new Error("offline"))),
      makeLink: (outside = this.outside) => {
        if (browser.makeLink !== null) return browser.makeLink(this, outside);
        const link = new FakeLink(browser.server, this);
        this.links.push(link);
        return link;
      },
      request: () => Promise.reject(new Error("unused")),
      tabs,
      page: {
        isVisible: () => this.isVisible,
        listen: (on) => {
          this.#on = on;
          return () => void (this.#on = null);
        },
      },
      env: {
        now: () => Date.now(),
        random: browser.random,
        id: () => `${this.name}.${++this.#ids}`,
        setTimer: (run, ms) => this.setTimer(run, ms),
        outside: this.outside,
      },
    });
    const cursor = (): Cursor | null =>
      this.#isLost || this.state.seq === 0 ? null : formatCursor(this.state);
    this.#watch = this.link.watch(SESSION, cursor, {
      connection: (view) => void (this.view = view),
      begun: () => {},
      snapshot: (from) => {
        this.state = restore(from);
        this.#isLost = false;
      },
      events: (events) => this.#take(events),
      clock: () => {},
    });
  }

  #take(events: readonly SessionEvent[]): void {
    for (const event of events) {
      const place = classifyEvent(this.state, event);
      if (place !== "next")
        this.#browser.problems.push(`${this.name} at ${formatCursor(this.state)} got ${event.id}: ${place}`);
      this.state = fold(this.state, event);
    }
  }

  #receive(from: FakeTab, message: unknown): void {
    // Late, but in order for each sender.
    const at = Math.max(this.#arrivals.get(from) ?? 0, Date.now() + Math.floor(this.#browser.random() * 20));
    this.#arrivals.set(from, at);
    // As Chromium does: what is said to a page that doesn't run is lost.
    setTimeout(() => this.life === "running" && this.#heard?.(message), at - Date.now());
  }

  /** Runs in this tab: now, once it is thawed, or never. */
  task(run: () => void): void {
    if (this.life === "gone") return;
    if (this.life !== "running") this.#backlog.push(run);
    else run();
  }
  setTimer(run: () => void, ms: number): () => void {
    const timer = setTimeout(() => this.task(run), ms);
    return () => clearTimeout(timer);
  }

  /** As a session does when a person presses "Try now". */
  refresh(): void {
    this.#isLost = true;
    this.#watch.again();
  }
  send(text: string): void {
    this.link.command({ type: "send", session_id: SESSION, client_message_id: text, text }).then(
      () => this.outcomes.push(`${text} done`),
      (error: ClientError) => this.outcomes.push(`${text} ${error.code}`),
    );
  }
  dropConnection(): void {
    for (const link of this.links) if (link.isOpen) link.drop();
  }
  /** Its connection is lost, and it never gets to try again. */
  stall(retryAt: number): void {
    for (const link of this.links) if (link.isOpen) link.stall(retryAt);
  }
  close(): void {
    this.#on?.left();
    this.crash();
  }
  crash(): void {
    this.life = "gone";
    for (const link of this.links) link.close();
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
    this.outside.become({ isHidden: !isVisible });
    this.#on?.visible(isVisible);
  }
  /** Left, and kept by the browser to come back to. */
  leave(): void {
    this.#on?.left();
    this.#browser.releaseAll(this);
    this.life = "kept";
  }
  comeBack(): void {
    if (this.life !== "kept") return this.thaw();
    this.life = "frozen";
    this.thaw();
    this.#on?.shown();
  }
}
