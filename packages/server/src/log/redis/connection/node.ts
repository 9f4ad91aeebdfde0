/**
 * One Redis server as the log knows it: a connection for commands, a connection for publish and subscribe, each replaced when it
 * breaks. Commands wait for a connection for a bounded time and are never sent twice.
 *
 * Reports when notifications may have been missed: a connection for them is new, or the server's data were wiped. Who is
 * subscribed to what is none of its business (`subscriptions.ts`).
 */
import { randomUUID } from "node:crypto";
import { ErrorReply } from "@redis/client";
import { addressOf } from "./address.ts";
import { ReconnectingConnection, type ReconnectOptions } from "./reconnecting.ts";
import type { RedisConnection } from "./connection.ts";
import type { OutageMonitor } from "./outage-monitor.ts";

export interface NodeOptions extends ReconnectOptions {
  /** How often to look whether the server is alive, the same, and has its data. */
  readonly healthCheckMs: number;
  /** How long a command waits for a connection. */
  readonly connectionWaitMs: number;
  readonly outages: OutageMonitor;
}

export interface NodeEvents {
  /** Nothing is subscribed over it yet. */
  onPubSubOpened(node: RedisNode, connection: RedisConnection): void;
  onPubSubLost(connection: RedisConnection): void;
  onMessage(connection: RedisConnection, channel: string, message: string): void;
  /** The server no longer serves the channel. */
  onMoved(connection: RedisConnection, channel: string): void;
  onDataLoss(node: RedisNode): void;
  /** It can't be reached, or sends us away: perhaps others do its work by now. */
  onTopologyDoubt(redirectedBy?: RedisConnection): void;
}

export class RedisNode {
  readonly #options: NodeOptions;
  readonly #events: NodeEvents;
  readonly #address: string;
  readonly #commands: ReconnectingConnection;
  readonly #pubSub: ReconnectingConnection;
  #sentinelKey: string | null = null;
  #sentinelToken: string | null = null;
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
      onOpened: (connection) => {
        outages.connected(address);
        // Sent ahead of every command: who has read something must not miss a wipe before the first beat.
        void this.#checkSentinel(connection);
      },
      onLost: () => outages.connecting(address),
      onFailed: (error) => {
        outages.failed(address, error);
        events.onTopologyDoubt();
      },
    });
    this.#pubSub = new ReconnectingConnection(options, {
      onOpened: (connection) => {
        connection.listen({
          onMessage: (channel, message) => events.onMessage(connection, channel, message),
          onMoved: (channel) => events.onMoved(connection, channel),
        });
        events.onPubSubOpened(this, connection);
      },
      onLost: (connection) => events.onPubSubLost(connection),
      onFailed: () => events.onTopologyDoubt(),
    });
    this.#scheduleHealthCheck();
  }

  /** The present connection for commands, without waiting when there is one. */
  get connection(): RedisConnection | null {
    return this.#commands.connection;
  }

  /** The present connection for publish and subscribe. */
  get pubSub(): RedisConnection | null {
    return this.#pubSub.connection;
  }

  /** A connection for commands, waiting a bounded time for one. */
  async waitForConnection(): Promise<RedisConnection> {
    try {
      return await this.#commands.waitForConnection(this.#options.connectionWaitMs);
    } catch (error) {
      this.#events.onTopologyDoubt();
      throw error;
    }
  }

  get sentinelKey(): string | null {
    return this.#sentinelKey;
  }

  /** A key of this server's own that is there as long as its data are; null while it keeps no key at all. */
  set sentinelKey(key: string | null) {
    if (key === this.#sentinelKey) return;
    this.#sentinelKey = key;
    // The old key may have been out of sight for a while, and a wipe with it: whatever is found counts as one.
    if (this.#sentinelToken !== null) this.#sentinelToken = "";
    if (this.connection !== null) void this.#checkSentinel(this.connection);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#commands.close();
    this.#pubSub.close();
    this.#options.outages.forget(this.#address);
  }

  #scheduleHealthCheck(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(
      () => void this.#checkHealth().then(() => this.#scheduleHealthCheck()),
      this.#options.healthCheckMs,
    );
    this.#timer.unref();
  }

  async #checkHealth(): Promise<void> {
    const { connection } = this;
    await Promise.all([connection?.healthCheck(), this.pubSub?.healthCheck()]);
    if (connection !== null) await this.#checkSentinel(connection);
  }

  /** Whether the data are still there: the key would be gone with them. */
  async #checkSentinel(connection: RedisConnection): Promise<void> {
    const key = this.#sentinelKey;
    if (key === null) return;
    // Always a new one: were the known one put back, other processes would not notice.
    const token = randomUUID();
    try {
      const found = await connection.send(["SET", key, token, "NX", "GET"]);
      if (key !== this.#sentinelKey) return;
      const isWiped = this.#sentinelToken !== null && found !== this.#sentinelToken;
      this.#sentinelToken = typeof found === "string" ? found : token;
      if (isWiped) this.#events.onDataLoss(this);
    } catch (error) {
      // A connection that is gone is replaced, and tells by itself.
      if (isMoved(error)) this.#events.onTopologyDoubt(connection);
    }
  }
}

/** The server no longer has the slot. */
export function isMoved(error: unknown): boolean {
  return error instanceof ErrorReply && error.message.startsWith("MOVED");
}
