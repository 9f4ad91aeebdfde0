/**
 * Signals through Redis (or Valkey), by plain publish and subscribe: on a cluster, too, every node passes them on to
 * all others. One connection listens and one sends, each opened when first needed. What can't be sent waits for the
 * connection, up to a number; what was on its way when one broke is lost.
 */
import { validateUrls } from "../log/redis/connection/address.ts";
import type { RedisClient } from "../log/redis/connection/client.ts";
import { Listeners } from "./listeners.ts";
import { ReconnectingConnection } from "./redis-connection.ts";
import type { Signals } from "./signals.ts";

export interface RedisSignalsOptions {
  /** One URL for one server; several for a cluster, any of its servers. */
  readonly url: string | readonly string[];
  readonly username?: string;
  readonly password?: string;
  /** Begins the name of every channel. */
  readonly keyPrefix?: string;
  readonly healthCheckMs?: number;
  readonly responseTimeoutMs?: number;
}

const MAX_WAITING = 1_000;

/** @throws TypeError when `url` is no address of Redis */
export function createRedisSignals(options: RedisSignalsOptions): Signals {
  validateUrls(options.url);
  const {
    url,
    username,
    password,
    keyPrefix = "ts",
    healthCheckMs = 1_000,
    responseTimeoutMs = 3_000,
  } = options;
  const urls = typeof url === "string" ? [url] : url;
  const settings = { urls, username, password, pulseMs: healthCheckMs, patienceMs: responseTimeoutMs };
  const nameOf = (channel: string) => `${keyPrefix}:signals:${channel}`;
  const listeners = new Listeners();

  let waiting: (readonly [channel: string, text: string])[] = [];
  const publish = (client: RedisClient, channel: string, text: string) =>
    client.sendCommand(["PUBLISH", nameOf(channel), text]).catch(() => undefined);
  const sender = new ReconnectingConnection(settings, async (client) => {
    const due = waiting;
    waiting = [];
    await Promise.all(due.map(([channel, text]) => publish(client, channel, text)));
  });

  const subscriptions = new WeakMap<RedisClient, Subscriptions>();
  const receiver = new ReconnectingConnection(settings, async (client) => {
    const made = new Subscriptions(client, listeners, nameOf);
    subscriptions.set(client, made);
    await made.sync();
  });
  const sync = () => {
    const { client } = receiver;
    if (client === null) return;
    // A connection that doesn't do as told is given up; the next one begins with all channels.
    subscriptions
      .get(client)
      ?.sync()
      .catch(() => client.destroy());
  };

  let isClosed = false;
  return {
    send(channel, text) {
      if (isClosed) return;
      const { client } = sender;
      if (client !== null) void publish(client, channel, text);
      else if (waiting.length < MAX_WAITING) waiting.push([channel, text]);
      sender.open();
    },
    listen(channel, listener) {
      if (isClosed) return () => undefined;
      const stop = listeners.add(channel, listener);
      receiver.open();
      sync();
      return () => {
        stop();
        sync();
      };
    },
    async close() {
      isClosed = true;
      waiting = [];
      listeners.clear();
      await Promise.all([sender.close(), receiver.close()]);
    },
  };
}

/** Brings what one connection is subscribed to in line with who listens, one step at a time. */
class Subscriptions {
  readonly #client: RedisClient;
  readonly #listeners: Listeners;
  readonly #nameOf: (channel: string) => string;
  readonly #subscribed = new Set<string>();
  #syncing: Promise<void> | null = null;

  constructor(client: RedisClient, listeners: Listeners, nameOf: (channel: string) => string) {
    this.#client = client;
    this.#listeners = listeners;
    this.#nameOf = nameOf;
  }

  sync(): Promise<void> {
    this.#syncing ??= this.#step().finally(() => {
      this.#syncing = null;
    });
    return this.#syncing;
  }

  async #step(): Promise<void> {
    while (true) {
      const wanted = this.#listeners.channels.find((channel) => !this.#subscribed.has(channel));
      const unwanted = [...this.#subscribed].find((channel) => !this.#listeners.has(channel));
      if (wanted !== undefined) {
        this.#subscribed.add(wanted);
        await this.#client.subscribe(this.#nameOf(wanted), (text) => this.#listeners.tell(wanted, text));
      } else if (unwanted === undefined) {
        return;
      } else {
        this.#subscribed.delete(unwanted);
        await this.#client.unsubscribe(this.#nameOf(unwanted));
      }
    }
  }
}
