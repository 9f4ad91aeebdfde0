/**
 * `RedisNode` is one Redis server: a connection for commands and a connection for publish and subscribe. Each is
 * replaced when it breaks.
 *
 * Invariant: `waitForConnection` waits a bounded time, and the node never sends or repeats a command of the log. The
 * node reports every case in which notifications may be lost: a new pub/sub connection, or wiped data. It does not know
 * the subscriptions; see `topology/subscriptions.ts`.
 */
import { randomUUID } from "node:crypto";
import { ErrorReply } from "@redis/client";
import { addressOf } from "./address.ts";
import { ReconnectingConnection, type ReconnectOptions } from "./reconnecting.ts";
import type { RedisConnection } from "./connection.ts";
import type { OutageMonitor } from "./outage-monitor.ts";

export interface NodeOptions extends ReconnectOptions {
  /** How often the node checks that the server is alive, is the same one, and has its data. */
  readonly healthCheckMs: number;
  /** How long a command waits for a connection before it fails with UNAVAILABLE. */
  readonly connectionWaitMs: number;
  readonly outages: OutageMonitor;
}

export interface NodeEvents {
  /** Called for a new connection. Nothing is subscribed over it yet. */
  onPubSubOpened(node: RedisNode, connection: RedisConnection): void;
  onPubSubLost(connection: RedisConnection): void;
  onMessage(connection: RedisConnection, channel: string, message: string): void;
  /** The server no longer serves the channel's slot. */
  onMoved(connection: RedisConnection, channel: string): void;
  onDataLoss(node: RedisNode): void;
  /** The server is unreachable or replied MOVED: another server may have its slots by now. */
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
        // Sent before any other command of this connection. Otherwise a wipe after a read, but before the first health
        // check, would stay unnoticed.
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

  /** The current connection for commands, or null. */
  get connection(): RedisConnection | null {
    return this.#commands.connection;
  }

  /** The current connection for publish and subscribe, or null. */
  get pubSub(): RedisConnection | null {
    return this.#pubSub.connection;
  }

  /** Waits up to `connectionWaitMs` for a connection for commands. */
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

  /** A key on this server that exists as long as the server has its data. Null while the server has no slots. */
  set sentinelKey(key: string | null) {
    if (key === this.#sentinelKey) return;
    this.#sentinelKey = key;
    // The old key may have been unreadable for a while, and a wipe unnoticed. The empty token makes the next check
    // report data loss.
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

  /** Reports data loss if the key's token has changed: a wipe deletes the key. */
  async #checkSentinel(connection: RedisConnection): Promise<void> {
    const key = this.#sentinelKey;
    if (key === null) return;
    // Always a new token. If a process restored the known one, other processes would not notice the wipe.
    const token = randomUUID();
    try {
      const found = await connection.send(["SET", key, token, "NX", "GET"]);
      if (key !== this.#sentinelKey) return;
      const isWiped = this.#sentinelToken !== null && found !== this.#sentinelToken;
      this.#sentinelToken = typeof found === "string" ? found : token;
      if (isWiped) this.#events.onDataLoss(this);
    } catch (error) {
      // A broken connection is replaced, and the replacement is reported.
      if (isMoved(error)) this.#events.onTopologyDoubt(connection);
    }
  }
}

/** True if the server no longer has the slot. */
export function isMoved(error: unknown): boolean {
  return error instanceof ErrorReply && error.message.startsWith("MOVED");
}
