/**
 * Signals through Redis (or Valkey), by plain publish and subscribe: in a cluster every node passes them on to all others,
 * so one connection to any node is enough. `createRedisSignals` opens it when it is first needed. What is
 * sent while there is no connection is lost. Never throws, and never keeps the process alive.
 */
import { createClient } from "@redis/client";
import { validateUrls } from "../log/redis/connection/address.ts";
import { withTimeout } from "../log/redis/connection/with-timeout.ts";
import { backoffDelay } from "../util/retry.ts";
import { Listeners } from "./listeners.ts";
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

const MAX_QUEUED = 1_000;
const DEFAULT_RESPONSE_TIMEOUT_MS = 3_000;
const BACKOFF = { initialDelayMs: 50, maxDelayMs: 1_000 };
const ignore = () => undefined;

/** @throws TypeError when `url` is no address of Redis */
export function createRedisSignals(options: RedisSignalsOptions): Signals {
  validateUrls(options.url);
  const { keyPrefix = "ts", healthCheckMs = 1_000 } = options;
  const { responseTimeoutMs = DEFAULT_RESPONSE_TIMEOUT_MS } = options;
  const urls = [options.url].flat();
  const prefix = `${keyPrefix}:signals:`;
  const listeners = new Listeners();
  /** Channels stay subscribed: there are a handful of them, not one for each session. */
  const channels = new Set<string>();
  let client: RedisClient | null = null;
  let opens = 0;
  let failures = 0;
  let isClosed = false;

  /** Opens one client after the other, to one address after the other, each until it ends. */
  function open(): void {
    const opened = createSignalClient(urls[opens++ % urls.length] ?? "", options);
    client = opened;
    const onEnd = () => {
      clearInterval(timer);
      opened.destroy();
      if (client !== opened) return;
      client = null;
      setTimeout(() => isClosed || open(), backoffDelay(++failures, BACKOFF, Math.random())).unref();
    };
    const checkHealth = () =>
      void withTimeout(opened.ping(), { ms: responseTimeoutMs, message: "No answer" }).catch(onEnd);
    const timer = setInterval(checkHealth, healthCheckMs).unref();
    opened.on("error", ignore).once("terminated", onEnd).once("end", onEnd);
    // A client that is closed before it is connected has no socket to destroy yet.
    opened.once("connect", () => client === opened || opened.destroy());
    opened.once("ready", () => (failures = 0));
    opened.unref();
    opened.connect().catch(ignore);
    for (const channel of channels) subscribe(channel);
  }

  function subscribe(channel: string): void {
    channels.add(channel);
    client?.subscribe(prefix + channel, (text) => listeners.emit(channel, text)).catch(ignore);
  }

  return {
    send(channel, text) {
      if (isClosed) return;
      if (opens === 0) open();
      client?.publish(prefix + channel, text).catch(ignore);
    },
    listen(channel, listener) {
      if (isClosed) return ignore;
      if (opens === 0) open();
      if (!channels.has(channel)) subscribe(channel);
      return listeners.add(channel, listener);
    },
    async close() {
      isClosed = true;
      listeners.clear();
      const last = client;
      client = null;
      last?.destroy();
    },
  };
}

type RedisClient = ReturnType<typeof createSignalClient>;

function createSignalClient(url: string, { username, password, responseTimeoutMs }: RedisSignalsOptions) {
  return createClient({
    url,
    RESP: 3,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    commandsQueueMaxLength: MAX_QUEUED,
    maintNotifications: "disabled",
    // The library reconnects to one address only, and its timer would keep the process alive.
    socket: { reconnectStrategy: false, connectTimeout: responseTimeoutMs ?? DEFAULT_RESPONSE_TIMEOUT_MS },
  });
}
