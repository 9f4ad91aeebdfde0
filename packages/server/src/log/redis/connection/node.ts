/**
 * `RedisNode` is one Redis server: a connection for commands and a connection for publish and subscribe. Each is
 * replaced when it breaks.
 *
 * Invariant: `waitForConnection` waits a bounded time, and the node never sends or repeats a command of the log. The
 * node reports every case in which notifications may be lost: a new pub/sub connection, or wiped data. It does not know
 * the subscriptions; see `topology/subscriptions.ts`.
 *
 * Health checks cost a server the same, however many processes use it: each process checks the server only if it has
 * received no result for a while, and publishes the result to all. A process learns from replies and from the published
 * checks whether its own connections are alive, so it sends no command for that.
 */
import { randomUUID } from "node:crypto";
import { ErrorReply } from "@redis/client";
import { addressOf } from "./address.ts";
import type { ConnectionOptions } from "./client.ts";
import { ReconnectingConnection } from "./reconnecting.ts";
import { parseReplicationId, type RedisConnection } from "./connection.ts";
import type { OutageMonitor } from "./outage-monitor.ts";
import { parsePulse } from "../script-replies.ts";
import { PULSE } from "../scripts.ts";

export interface NodeOptions extends ConnectionOptions {
  /**
   * How often the server is checked: whether it is alive, is the same one, has its data and accepts writes. All
   * processes together do that once per one to two intervals.
   */
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

/** Subscriptions are checked once per this many intervals. */
const SUBSCRIPTION_CHECK_TICKS = 5;

export class RedisNode {
  readonly #options: NodeOptions;
  readonly #events: NodeEvents;
  readonly #address: string;
  readonly #commands: ReconnectingConnection;
  readonly #pubSub: ReconnectingConnection;
  #sentinelKey: string | null = null;
  #sentinelToken: string | null = null;
  /** The connection over which results of other processes arrive, and the channel. */
  #resultsFrom: { readonly connection: RedisConnection; readonly channel: string } | null = null;
  #ticks = 0;
  /** Intervals without a reply on the connection for commands, although commands wait for one. */
  #silentTicks = 0;
  /** Intervals in which no result arrived over the connection for publish and subscribe. */
  #missedTicks = 0;
  readonly #tickTimer: NodeJS.Timeout;
  #pulseTimer: NodeJS.Timeout | null = null;
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
        this.#silentTicks = 0;
        outages.connected(address);
        outages.evicts(address, connection.evictionPolicy);
        // Sent before any other command of this connection. Otherwise a wipe after a read, but before the first health
        // check, would stay unnoticed.
        void this.#check(connection);
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
          onMessage: (channel, message) => this.#onMessage(connection, channel, message),
          onMoved: (channel) => events.onMoved(connection, channel),
        });
        this.#subscribeToResults();
        events.onPubSubOpened(this, connection);
      },
      onLost: (connection) => events.onPubSubLost(connection),
      onFailed: () => events.onTopologyDoubt(),
    });
    this.#tickTimer = setInterval(() => this.#tick(), options.healthCheckMs).unref();
    this.#scheduleCheck();
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
    this.#subscribeToResults();
    if (this.connection !== null) void this.#check(this.connection);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#tickTimer);
    if (this.#pulseTimer !== null) clearTimeout(this.#pulseTimer);
    this.#commands.close();
    this.#pubSub.close();
    this.#options.outages.drop(this.#address);
  }

  /**
   * Ends connections that are dead. It counts intervals instead of time: while this process was suspended, no reply
   * could be read.
   */
  #tick(): void {
    const { healthCheckMs, responseTimeoutMs } = this.#options;
    const maxTicks = Math.ceil(responseTimeoutMs / healthCheckMs);
    const { connection, pubSub } = this;
    this.#silentTicks = connection?.isSilent() === true ? this.#silentTicks + 1 : 0;
    if (this.#silentTicks > maxTicks) connection?.destroy();
    this.#subscribeToResults();
    // Two intervals may pass without a check.
    if (pubSub === null || this.#sentinelKey === null) this.#missedTicks = 0;
    else if (++this.#missedTicks > maxTicks + 3) pubSub.destroy();
    if (++this.#ticks % SUBSCRIPTION_CHECK_TICKS === 0) void pubSub?.checkSubscriptions();
  }

  /** Subscribes to the checks of other processes, unless it is subscribed. */
  #subscribeToResults(): void {
    const { pubSub: connection, sentinelKey: channel } = this;
    const before = this.#resultsFrom;
    if (before !== null && before.connection === connection && before.channel === channel) return;
    this.#resultsFrom = null;
    if (before !== null && before.connection === connection)
      before.connection.unsubscribe(before.channel).catch(() => undefined);
    if (connection === null || channel === null) return;
    const resultsFrom = { connection, channel };
    this.#resultsFrom = resultsFrom;
    this.#missedTicks = 0;
    connection.subscribe(channel).catch((error: unknown) => {
      if (this.#resultsFrom === resultsFrom) this.#resultsFrom = null;
      if (isMoved(error)) this.#events.onTopologyDoubt(connection);
    });
  }

  #onMessage(connection: RedisConnection, channel: string, message: string): void {
    if (channel !== this.#sentinelKey) return this.#events.onMessage(connection, channel, message);
    this.#missedTicks = 0;
    this.#learn(message);
    // Another process has checked the server, so this one needs not.
    this.#scheduleCheck();
  }

  /** The random part lets one process be first, so that the others receive its result before their own is due. */
  #scheduleCheck(): void {
    if (this.#pulseTimer !== null) clearTimeout(this.#pulseTimer);
    if (this.#isClosed) return;
    const check = async (): Promise<void> => {
      const { connection } = this;
      if (connection !== null) await this.#check(connection);
      this.#scheduleCheck();
    };
    this.#pulseTimer = setTimeout(
      () => void check(),
      this.#options.healthCheckMs * (1 + Math.random()),
    ).unref();
  }

  async #check(connection: RedisConnection): Promise<void> {
    const key = this.#sentinelKey;
    try {
      if (key === null) {
        const info = String(await connection.check(["INFO", "replication"]));
        if (parseReplicationId(info) !== connection.replicationId) connection.destroy();
        return;
      }
      // Always a new token. If a process restored the known one, other processes would not notice the wipe.
      const reply = await connection.check(["EVAL", PULSE, "1", key, randomUUID()]);
      if (key === this.#sentinelKey) this.#learn(String(reply));
    } catch (error) {
      if (!(error instanceof ErrorReply)) return connection.destroy();
      if (isMoved(error)) return this.#events.onTopologyDoubt(connection);
      // Some errors refuse the whole script, such as MISCONF.
      const [code = ""] = error.message.split(" ");
      if (code !== "ASK" && code !== "CLUSTERDOWN") this.#options.outages.refused(this.#address, code);
    }
  }

  /** Applies the result of a check, of this process or another one. */
  #learn(message: string): void {
    const pulse = parsePulse(message);
    if (pulse === null) return;
    const { outages } = this.#options;
    if (pulse.refusal === null) outages.accepted(this.#address);
    else outages.refused(this.#address, pulse.refusal);
    for (const connection of [this.connection, this.pubSub])
      if (connection !== null && connection.replicationId !== pulse.replicationId) connection.destroy();
    if (pulse.token === null) return;
    // A wipe deletes the key, and the next check creates it with another token.
    const isWiped = this.#sentinelToken !== null && pulse.token !== this.#sentinelToken;
    this.#sentinelToken = pulse.token;
    if (isWiped) this.#events.onDataLoss(this);
  }
}

/** True if the server no longer has the slot. */
export function isMoved(error: unknown): boolean {
  return error instanceof ErrorReply && error.message.startsWith("MOVED");
}
