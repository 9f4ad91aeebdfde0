/**
 * `createRedisSignals` sends signals through Redis or Valkey with plain publish and subscribe. In a cluster every node
 * forwards messages to all others, so one connection to any node is enough.
 * Invariant: nothing here throws after creation or keeps the process alive. The connection opens on first use. Signals
 * that are sent without a connection are lost. A new connection subscribes to all channels again. Each reconnect uses
 * the next URL, after a backoff.
 */
import { createClient } from "@redis/client";
import { validateUrls } from "../log/redis/connection/address.ts";
import { withTimeout } from "../log/redis/connection/with-timeout.ts";
import { backoffDelay } from "../util/retry.ts";
import { Listeners } from "./listeners.ts";
import type { Signals } from "./signals.ts";

export interface RedisSignalsOptions {
  /** One URL for a single server. For a cluster, URLs of any of its servers. */
  readonly url: string | readonly string[];
  /** Prefix of every channel name. @default "ts" */
  readonly keyPrefix?: string;
  /** How often the connection is pinged. @default 1_000 */
  readonly healthCheckMs?: number;
  /** How long connecting or a ping may take. After that the client reconnects. @default 3_000 */
  readonly responseTimeoutMs?: number;
}

const MAX_QUEUED = 1_000;
const DEFAULT_RESPONSE_TIMEOUT_MS = 3_000;
const BACKOFF = { initialDelayMs: 50, maxDelayMs: 1_000 };
const ignore = () => undefined;

/** @throws TypeError if `url` is not a Redis address */
export function createRedisSignals(options: RedisSignalsOptions): Signals {
  validateUrls(options.url);
  const { keyPrefix = "ts", healthCheckMs = 1_000 } = options;
  const { responseTimeoutMs = DEFAULT_RESPONSE_TIMEOUT_MS } = options;
  const urls = [options.url].flat();
  const prefix = `${keyPrefix}:signals:`;
  const listeners = new Listeners();
  /**
   * Channels stay subscribed after their last listener is removed: there are a handful of them, not one per session.
   */
  const channels = new Set<string>();
  let client: RedisClient | null = null;
  let opens = 0;
  let failures = 0;
  let isClosed = false;

  /** Opens a client to the next address. When the client ends, opens the next one after a backoff. */
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

  const send: Signals["send"] = (channel, text) => {
    if (isClosed) return;
    if (opens === 0) open();
    client?.publish(prefix + channel, text).catch(ignore);
  };
  const listen: Signals["listen"] = (channel, listener) => {
    if (isClosed) return ignore;
    if (opens === 0) open();
    if (!channels.has(channel)) subscribe(channel);
    return listeners.add(channel, listener);
  };

  return {
    send,
    listen,
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

function createSignalClient(url: string, { responseTimeoutMs }: RedisSignalsOptions) {
  return createClient({
    url,
    RESP: 3,
    commandsQueueMaxLength: MAX_QUEUED,
    maintNotifications: "disabled",
    // The library reconnects to the same address only, and its timer would keep the process alive.
    socket: { reconnectStrategy: false, connectTimeout: responseTimeoutMs ?? DEFAULT_RESPONSE_TIMEOUT_MS },
  });
}
