/**
 * One Redis server as the log knows it: a connection for commands, a connection for news, each replaced when it
 * breaks. Commands wait for a connection for a bounded time and are never sent twice.
 *
 * Whatever may have been missed is told: after a new connection for news, and when the server's data were wiped,
 * every subscriber hears `suspect`.
 */
import { randomUUID } from "node:crypto";
import type { News } from "../engine.ts";
import { LogError } from "../errors.ts";
import { Link, type LinkOptions, unavailable } from "./link.ts";
import { readNews } from "./wire.ts";

export interface NodeOptions extends LinkOptions {
  /** How often to look whether the server is alive, the same, and has its data. */
  readonly pulseMs: number;
  /** How long a command waits for a connection. */
  readonly waitMs: number;
  readonly reconnectMs: number;
  /** A key of this server's own that is there as long as its data are. */
  readonly pulseKey: string;
}

type Listener = (news: News) => void;

interface Channel {
  readonly listeners: Set<Listener>;
  /** Fulfilled once the channel is subscribed over the present connection. */
  subscribed: Promise<void>;
  /** Nobody listens any more, and soon it is let go. */
  lingering: NodeJS.Timeout | null;
}

/** Readers who reconnect come back within moments. */
const LINGER_MS = 1_000;

const SUSPECT: News = { type: "suspect" };

export class RedisNode {
  readonly #options: NodeOptions;
  readonly #channels = new Map<string, Channel>();
  readonly #leaving = new Map<string, Promise<void>>();
  #commands: Promise<Link>;
  #news: Promise<Link>;
  #current: Link | null = null;
  #pulse: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;
  /** Called when the server says that it no longer serves a channel. */
  onMoved: (channel: string) => void = () => undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.#commands = this.#connect(
      (link) => this.#openCommands(link),
      () => (this.#current = null),
    );
    this.#news = this.#connect(
      (link) => this.#openNews(link),
      () => undefined,
    );
    this.#schedulePulse();
  }

  /** The present connection for commands, without waiting when there is one. */
  get link(): Link | null {
    return this.#current;
  }

  /** A connection for commands, waiting a bounded time for one. */
  async linked(): Promise<Link> {
    if (this.#current !== null) return this.#current;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const { waitMs } = this.#options;
      timer = setTimeout(
        () => reject(new LogError("UNAVAILABLE", { detail: `No connection in ${waitMs} ms` })),
        waitMs,
      );
    });
    try {
      return await Promise.race([this.#commands, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async subscribe(name: string, listener: Listener): Promise<() => void> {
    if (this.#closed) throw new LogError("UNAVAILABLE", { detail: "The log is closed" });
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      // The client would take the answer to an unsubscription under way for one to ours.
      const left = this.#leaving.get(name) ?? Promise.resolve();
      const subscribed = left.then(async () => (await this.#news).subscribe(name, this.#hear));
      channel = { listeners: new Set(), subscribed, lingering: null };
      this.#channels.set(name, channel);
    }
    if (channel.lingering !== null) clearTimeout(channel.lingering);
    channel.lingering = null;
    const { listeners } = channel;
    listeners.add(listener);
    const leave = () => this.#leave(name, listener);
    try {
      await channel.subscribed;
    } catch (error) {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#channels.get(name) === channel) this.#channels.delete(name);
      throw unavailable(error);
    }
    return leave;
  }

  /** Tells every subscriber of these channels to read again. */
  suspect(names: Iterable<string> = this.#channels.keys()): void {
    for (const name of names)
      for (const listener of this.#channels.get(name)?.listeners ?? []) listener(SUSPECT);
  }

  /** Gives up the listeners of a channel, for another node to take. */
  release(name: string): Set<Listener> {
    const channel = this.#channels.get(name);
    if (channel === undefined) return new Set();
    if (channel.lingering !== null) clearTimeout(channel.lingering);
    this.#letGo(name);
    return channel.listeners;
  }

  get channels(): string[] {
    return [...this.#channels.keys()];
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const { lingering } of this.#channels.values()) if (lingering !== null) clearTimeout(lingering);
    this.#channels.clear();
    for (const opening of [this.#commands, this.#news]) {
      void opening.then((link) => link.destroy()).catch(() => undefined);
    }
    this.#current?.destroy();
  }

  /** Opens a connection, and another one whenever it ends, until the node is closed. */
  #connect(opened: (link: Link) => Promise<void>, lost: () => void): Promise<Link> {
    const attempt = async (): Promise<Link> => {
      while (true) {
        if (this.#closed) throw new LogError("UNAVAILABLE", { detail: "The log is closed" });
        let link: Link | null = null;
        try {
          link = await Link.open(this.#options);
          await opened(link);
          return link;
        } catch {
          link?.destroy();
          await new Promise((resolve) => setTimeout(resolve, this.#options.reconnectMs));
        }
      }
    };
    const opening = attempt();
    void this.#replaceWhenLost(opening, opened, lost).catch(() => undefined);
    return opening;
  }

  async #replaceWhenLost(
    opening: Promise<Link>,
    opened: (link: Link) => Promise<void>,
    lost: () => void,
  ): Promise<void> {
    const link = await opening;
    await link.ended;
    lost();
    if (this.#closed) return;
    const next = this.#connect(opened, lost);
    if (this.#commands === opening) this.#commands = next;
    else this.#news = next;
  }

  async #openCommands(link: Link): Promise<void> {
    // Sent ahead of every command: who has read something must not miss a wipe before the first beat.
    void this.#feelPulse(link).catch(() => undefined);
    this.#current = link;
  }

  async #openNews(link: Link): Promise<void> {
    link.onMoved((channel) => this.onMoved(channel));
    const names = [...this.#channels.keys()];
    await Promise.all(
      names.map((name) => {
        const subscribed = link.subscribe(name, this.#hear);
        const channel = this.#channels.get(name);
        if (channel !== undefined) channel.subscribed = subscribed;
        return subscribed;
      }),
    );
    this.suspect(names);
  }

  /** The same function for every channel, so that subscribing twice over one connection is subscribing once. */
  readonly #hear = (message: string, name: string): void => {
    const listeners = this.#channels.get(name)?.listeners;
    if (listeners === undefined) return;
    const news = readNews(message);
    for (const listener of listeners) listener(news);
  };

  #leave(name: string, listener: Listener): void {
    const channel = this.#channels.get(name);
    if (channel === undefined || !channel.listeners.delete(listener) || channel.listeners.size > 0) return;
    channel.lingering = setTimeout(() => this.#letGo(name), LINGER_MS).unref();
  }

  #letGo(name: string): void {
    this.#channels.delete(name);
    const left = this.#news
      .then((link) => link.unsubscribe(name))
      .catch(() => undefined)
      .then(() => this.#leaving.delete(name))
      .then(() => undefined);
    this.#leaving.set(name, left);
  }

  #schedulePulse(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      void this.#beat()
        .catch(() => undefined)
        .then(() => this.#schedulePulse());
    }, this.#options.pulseMs).unref();
  }

  async #beat(): Promise<void> {
    const { patienceMs } = this.#options;
    const link = this.#current;
    if (link === null) return;
    const news = await Promise.race([this.#news, Promise.resolve(null)]);
    await Promise.all([link.check(patienceMs), news?.check(patienceMs)]);
    // A connection that is gone is replaced, and tells by itself.
    await this.#feelPulse(link).catch(() => undefined);
  }

  /** Whether the data are still there: the key would be gone with them. */
  async #feelPulse(link: Link): Promise<void> {
    // Always a new one: were the known one put back, other processes would not notice.
    const token = randomUUID();
    const found = await link.send(["SET", this.#options.pulseKey, token, "NX", "GET"]);
    const isWiped = this.#pulse !== null && found !== this.#pulse;
    this.#pulse = typeof found === "string" ? found : token;
    if (isWiped) this.suspect();
  }
}
