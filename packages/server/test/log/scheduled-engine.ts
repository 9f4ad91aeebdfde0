/**
 * `ScheduledEngine` puts the memory engine behind a simulated network that fast-check's scheduler controls.
 * Requests, responses and notifications arrive when the scheduler decides. A subscription connection can break, or lose
 * notifications silently.
 * It records the whole history as an oracle: every entry ever written, and the position before each.
 */
import type { Scheduler } from "fast-check";
import { formatCursor } from "@turnstream/protocol";
import type { LogEngine, LogNotification } from "../../src/log/engine.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { RehearsedEngine } from "./faulty-engine.ts";

interface Subscriber {
  readonly listener: (notification: LogNotification) => void;
  queue: LogNotification[];
  connected: boolean;
  /** Notifications of an earlier connection never arrive. */
  connection: number;
}

export class ScheduledEngine implements LogEngine {
  readonly inner = new RehearsedEngine();
  /** Maps each position ever written to the position before it. */
  readonly before = new Map<string, string>();
  readonly written = new Map<string, LogEntry>();
  readonly #scheduler: Scheduler;
  readonly #subscribers = new Set<Subscriber>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Starts to record the history of a session. */
  async watch(session: string): Promise<void> {
    await this.inner.subscribe(session, (notification) => {
      if (notification.type !== "written") return;
      let { before } = notification.batch;
      for (const entry of notification.batch.entries) {
        this.before.set(entry.cursor, formatCursor(before ?? { epoch: entry.epoch, seq: entry.seq - 1 }));
        this.written.set(entry.cursor, entry);
        before = entry;
      }
    });
  }

  append: LogEngine["append"] = (session, append) =>
    this.#remote("append", () => this.inner.append(session, append));
  claim: LogEngine["claim"] = (session, claim) =>
    this.#remote("claim", () => this.inner.claim(session, claim));
  range: LogEngine["range"] = (session, from, limit) =>
    this.#remote("range", () => this.inner.range(session, from, limit));
  head: LogEngine["head"] = (session) => this.#remote("head", () => this.inner.head(session));
  trim: LogEngine["trim"] = (session, upTo) => this.#remote("trim", () => this.inner.trim(session, upTo));
  expire: LogEngine["expire"] = (session, archived, ms) =>
    this.#remote("expire", () => this.inner.expire(session, archived, ms));
  remove: LogEngine["remove"] = (session) => this.#remote("remove", () => this.inner.remove(session));
  close: LogEngine["close"] = () => this.inner.close();

  subscribe: LogEngine["subscribe"] = async (session, listener) => {
    const subscriber: Subscriber = { listener, queue: [], connected: true, connection: 0 };
    this.#subscribers.add(subscriber);
    const leave = await this.#remote("subscribe", () =>
      this.inner.subscribe(session, (notification) => {
        if (!subscriber.connected) return;
        // The log detects data loss with a health check, so this can arrive after later notifications.
        if (notification.type === "possible-gap") void this.#doubt(subscriber);
        else this.#send(subscriber, notification);
      }),
    );
    return () => {
      this.#subscribers.delete(subscriber);
      subscriber.connected = false;
      leave();
    };
  };

  /** Breaks every subscription connection. Each reconnects later and reports a possible gap. */
  async reconnect(): Promise<void> {
    await Promise.all(
      [...this.#subscribers].map(async (subscriber) => {
        subscriber.connected = false;
        subscriber.connection++;
        subscriber.queue = [];
        await this.#scheduler.schedule(Promise.resolve("reconnected"));
        if (!this.#subscribers.has(subscriber) || subscriber.connected) return;
        subscriber.connected = true;
        this.#send(subscriber, { type: "possible-gap" });
      }),
    );
  }

  /** Drops the notifications under way to every reader, without reporting a gap. */
  drop(): void {
    for (const subscriber of this.#subscribers) {
      subscriber.connection++;
      subscriber.queue = [];
    }
  }

  async #doubt(subscriber: Subscriber): Promise<void> {
    await this.#scheduler.schedule(Promise.resolve("doubt"));
    if (subscriber.connected) subscriber.listener({ type: "possible-gap" });
  }

  /** Delivers in order, each when the scheduler decides. */
  #send(subscriber: Subscriber, notification: LogNotification): void {
    const { connection } = subscriber;
    subscriber.queue.push(notification);
    void this.#arrive(subscriber, connection);
  }

  async #arrive(subscriber: Subscriber, connection: number): Promise<void> {
    await this.#scheduler.schedule(Promise.resolve("notification"));
    if (subscriber.connection !== connection) return;
    const next = subscriber.queue.shift();
    if (next !== undefined) subscriber.listener(next);
  }

  async #remote<T>(name: string, work: () => Promise<T>): Promise<T> {
    await this.#scheduler.schedule(Promise.resolve(`${name} sent`));
    const answer = await work();
    await this.#scheduler.schedule(Promise.resolve(`${name} answered`));
    return answer;
  }
}
