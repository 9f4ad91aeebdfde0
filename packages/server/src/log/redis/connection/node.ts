/**
 * One Redis server as the log knows it: a connection for commands, a connection for news, each replaced when it
 * breaks. Commands wait for a connection for a bounded time and are never sent twice.
 *
 * Tells when news may have been missed: a connection for them is new, or the server's data were wiped. Who is
 * subscribed to what is none of its business (`channels.ts`).
 */
import { randomUUID } from "node:crypto";
import { ErrorReply } from "@redis/client";
import { addressOf } from "./address.ts";
import { ReconnectingConnection, type ReconnectOptions } from "./reconnecting.ts";
import type { RedisConnection } from "./connection.ts";
import type { OutageMonitor } from "./outage-monitor.ts";

export interface NodeOptions extends ReconnectOptions {
  /** How often to look whether the server is alive, the same, and has its data. */
  readonly pulseMs: number;
  /** How long a command waits for a connection. */
  readonly waitMs: number;
  readonly outages: OutageMonitor;
}

export interface NodeEvents {
  /** Nothing is subscribed over it yet. */
  newsOpened(node: RedisNode, link: RedisConnection): void;
  newsLost(link: RedisConnection): void;
  onMessage(link: RedisConnection, channel: string, message: string): void;
  /** The server no longer serves the channel. */
  onMoved(link: RedisConnection, channel: string): void;
  onDataLoss(node: RedisNode): void;
  /** It can't be reached, or sends us away: perhaps others do its work by now. */
  onTopologyDoubt(): void;
}

export class RedisNode {
  readonly #options: NodeOptions;
  readonly #events: NodeEvents;
  readonly #address: string;
  readonly #commands: ReconnectingConnection;
  readonly #news: ReconnectingConnection;
  #pulseKey: string | null = null;
  #pulse: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: NodeOptions, events: NodeEvents) {
    this.#options = options;
    this.#events = events;
    const { outages } = options;
    const address = addressOf(options.url);
    this.#address = address;
    outages.connecting(address);
    this.#commands = new ReconnectingConnection(options, {
      opened: (link) => {
        outages.connected(address);
        // Sent ahead of every command: who has read something must not miss a wipe before the first beat.
        void this.#feelPulse(link);
      },
      lost: () => outages.connecting(address),
      failed: (error) => {
        outages.failed(address, error);
        events.onTopologyDoubt();
      },
    });
    this.#news = new ReconnectingConnection(options, {
      opened: (link) => {
        link.report({
          onMessage: (channel, message) => events.onMessage(link, channel, message),
          moved: (channel) => events.onMoved(link, channel),
        });
        events.newsOpened(this, link);
      },
      lost: (link) => events.newsLost(link),
      failed: () => events.onTopologyDoubt(),
    });
    this.#schedulePulse();
  }

  /** The present connection for commands, without waiting when there is one. */
  get link(): RedisConnection | null {
    return this.#commands.link;
  }

  /** The present connection for news. */
  get pubSub(): RedisConnection | null {
    return this.#news.link;
  }

  /** A connection for commands, waiting a bounded time for one. */
  async linked(): Promise<RedisConnection> {
    try {
      return await this.#commands.linked(this.#options.waitMs);
    } catch (error) {
      this.#events.onTopologyDoubt();
      throw error;
    }
  }

  get sentinelKey(): string | null {
    return this.#pulseKey;
  }

  /** A key of this server's own that is there as long as its data are; null while it keeps no key at all. */
  set sentinelKey(key: string | null) {
    if (key === this.#pulseKey) return;
    this.#pulseKey = key;
    // The old key may have been out of sight for a while, and a wipe with it: whatever is found counts as one.
    if (this.#pulse !== null) this.#pulse = "";
    if (this.link !== null) void this.#feelPulse(this.link);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#commands.close();
    this.#news.close();
    this.#options.outages.forget(this.#address);
  }

  #schedulePulse(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(
      () => void this.#beat().then(() => this.#schedulePulse()),
      this.#options.pulseMs,
    );
    this.#timer.unref();
  }

  async #beat(): Promise<void> {
    const { link } = this;
    await Promise.all([link?.healthCheck(), this.pubSub?.healthCheck()]);
    if (link !== null) await this.#feelPulse(link);
  }

  /** Whether the data are still there: the key would be gone with them. */
  async #feelPulse(link: RedisConnection): Promise<void> {
    const key = this.#pulseKey;
    if (key === null) return;
    // Always a new one: were the known one put back, other processes would not notice.
    const token = randomUUID();
    try {
      const found = await link.send(["SET", key, token, "NX", "GET"]);
      if (key !== this.#pulseKey) return;
      const isWiped = this.#pulse !== null && found !== this.#pulse;
      this.#pulse = typeof found === "string" ? found : token;
      if (isWiped) this.#events.onDataLoss(this);
    } catch (error) {
      // A connection that is gone is replaced, and tells by itself.
      if (error instanceof ErrorReply && error.message.startsWith("MOVED")) this.#events.onTopologyDoubt();
    }
  }
}
