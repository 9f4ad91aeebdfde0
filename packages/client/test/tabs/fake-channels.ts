/**
 * `FakeWires` gives the real network transport of each tab fake sockets and requests. They connect it to the fake
 * server, which can be down or silent. Timers are vitest's fake timers.
 */
import { formatCursor, snapshot } from "@turnstream/protocol";
import { createAuth } from "../../src/auth/auth.ts";
import { createNetworkTransport } from "../../src/transport/network-transport.ts";
import { type ClientEnv, createEnv, type PageEnv } from "../../src/env.ts";
import { createApi } from "../../src/http/api.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { type FakeBrowser, type FakeServer, type FakeTab, SESSION } from "./fake-browser.ts";

export class FakeWires {
  readonly #server: FakeServer;
  readonly #sockets = new Set<FakeSocket>();
  isDown = false;
  /** The response to snapshot requests. Null: the correct one. */
  snapshotAnswer: (() => Response) | null = null;
  isClosed = false;
  readonly requests: string[] = [];

  /** Makes the tabs of the browser connect through these sockets. */
  constructor(browser: FakeBrowser) {
    this.#server = browser.server;
    browser.createTransport = (tab, page) => this.#link(browser, tab, page);
    browser.server.transports.add({ published: (event) => this.#sendAll({ ...event, session_id: SESSION }) });
  }

  get opened(): number {
    return this.#sockets.size;
  }

  count(what: string): number {
    return this.requests.filter((path) => path.endsWith(what)).length;
  }

  /** Closes all sockets and rejects new ones. */
  goDown(): void {
    this.isDown = true;
    for (const socket of this.#sockets) socket.end(1006);
  }

  /** The open sockets deliver nothing more, but they stay open. */
  goSilent(): void {
    for (const socket of this.#sockets) socket.isSilent = true;
  }

  erase(): void {
    this.isClosed = true;
    this.#sendAll({ type: "unsubscribed", session_id: SESSION, reason: "closed" });
  }

  #sendAll(frame: object): void {
    for (const socket of this.#sockets) socket.emit(frame);
  }

  answer(socket: FakeSocket, command: Record<string, unknown>): void {
    const { type, request_id } = command;
    if (type === "ping") return socket.emit({ type: "pong", request_id });
    if (type !== "subscribe") return;
    if (this.isClosed) return socket.emit(closed(request_id));
    const { state } = this.#server;
    const head = formatCursor(state);
    const cursor = command["last_event_id"] as string | undefined;
    const after = cursor === undefined ? null : this.#server.after(cursor);
    const subscribed = { type: "subscribed", request_id, session_id: SESSION, head };
    if (after === null) {
      socket.emit({ ...subscribed, resumed: false, reason: "fresh" });
      socket.emit({ type: "snapshot", session_id: SESSION, event_id: head, snapshot: snapshot(state) });
    } else {
      socket.emit({ ...subscribed, resumed: true, reason: "cursor" });
      for (const event of after) socket.emit({ ...event, session_id: SESSION });
    }
  }

  #link(browser: FakeBrowser, tab: FakeTab, page: PageEnv): Transport {
    const add = (socket: FakeSocket): void => void this.#sockets.add(socket);
    const isDown = (): boolean => this.isDown;
    const answer = (socket: FakeSocket, command: Record<string, unknown>): void =>
      this.answer(socket, command);
    class TabSocket extends FakeSocket {
      constructor() {
        super(tab, isDown(), answer);
        add(this);
      }
    }
    const env: ClientEnv = {
      ...createEnv(),
      now: () => Date.now(),
      random: browser.random,
      setTimer: (run, ms) => tab.setTimer(run, ms),
      fetch: ((input: string) => this.#fetch(input)) as typeof fetch,
      WebSocket: TabSocket as unknown as typeof WebSocket,
      page,
    };
    const auth = createAuth(() => ({ token: "a.b.c" }), env);
    const api = createApi({ url: "http://server", auth, env });
    return createNetworkTransport({ api, env, channels: ["websocket"] });
  }

  async #fetch(address: string): Promise<Response> {
    const { pathname } = new URL(address);
    this.requests.push(pathname);
    if (this.isDown) throw new TypeError("Failed to fetch");
    if (pathname.endsWith("/tickets")) return Response.json({ ticket: "t", now: Date.now() });
    if (this.isClosed) return Response.json(closed(undefined), { status: 404 });
    const { state } = this.#server;
    const body = { session_id: SESSION, event_id: formatCursor(state), snapshot: snapshot(state) };
    return this.snapshotAnswer?.() ?? Response.json(body);
  }
}

function closed(request_id: unknown): object {
  return {
    type: "error",
    request_id,
    error: "NOT_FOUND",
    message: "The session was deleted.",
    can_retry: false,
  };
}

class FakeSocket extends EventTarget {
  readonly OPEN = 1;
  readyState = 0;
  isSilent = false;
  readonly #tab: FakeTab;
  readonly #answer: (socket: FakeSocket, command: Record<string, unknown>) => void;

  constructor(
    tab: FakeTab,
    isShut: boolean,
    answer: (socket: FakeSocket, command: Record<string, unknown>) => void,
  ) {
    super();
    this.#tab = tab;
    this.#answer = answer;
    tab.setTimer(() => (isShut ? this.end(1006) : this.#open()), 5);
  }

  #open(): void {
    if (this.readyState !== 0) return;
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
  }

  emit(frame: object): void {
    if (this.isSilent || this.readyState !== 1) return;
    const data = JSON.stringify(frame);
    this.#tab.setTimer(() => {
      if (this.readyState === 1) this.dispatchEvent(new MessageEvent("message", { data }));
    }, 2);
  }

  send(text: string): void {
    if (!this.isSilent) this.#answer(this, JSON.parse(text) as Record<string, unknown>);
  }

  end(code: number): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.dispatchEvent(new CloseEvent("close", { code }));
  }

  close(): void {
    this.readyState = 3;
  }
}
