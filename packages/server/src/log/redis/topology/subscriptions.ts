/**
 * Who listens to which channel, and over which connection each channel comes: the one place that knows. A channel
 * belongs to the server that keeps its session and follows it; one that is not subscribed is tried again until it
 * is, or until nobody wants it any more. Never asks who keeps what, and never waits for a server to move a channel.
 *
 * Whoever may have missed something hears `suspect` once news flow again.
 */
import type { LogNotification } from "../../engine.ts";
import { backoffDelay } from "../../../util/retry.ts";
import { LogError } from "../../errors.ts";
import type { RedisConnection } from "../connection/connection.ts";
import type { NodeEvents, RedisNode } from "../connection/node.ts";
import { parseNotification } from "../script-replies.ts";

export interface SubscriptionManagerOptions {
  nodeFor(channel: string): RedisNode;
  /** A server sends us away or can't be reached: time to look who keeps what. */
  doubted(): void;
  /** How long a subscriber waits. */
  readonly waitMs: number;
}

/** Readers who reconnect come back within moments. */
const LINGER_MS = 1_000;
const BACKOFF = { initialDelayMs: 50, maxDelayMs: 1_000 };

const SUSPECT: LogNotification = { type: "suspect" };

export class SubscriptionManager implements NodeEvents {
  readonly #options: SubscriptionManagerOptions;
  readonly #channels = new Map<string, Channel>();
  #isClosed = false;

  constructor(options: SubscriptionManagerOptions) {
    this.#options = options;
  }

  async subscribe(name: string, listener: Listener): Promise<() => void> {
    if (this.#isClosed) throw closed();
    const channel = this.#channels.get(name) ?? this.#add(name);
    clearTimer(channel.lingering);
    channel.lingering = null;
    if (channel.link === null) await this.#untilSubscribed(channel, listener);
    else channel.listeners.add(listener);
    return () => {
      if (channel.listeners.delete(listener)) this.#letGoSoon(channel);
    };
  }

  /** Takes every channel to the server that keeps it by now. */
  rebalance(): void {
    for (const channel of this.#channels.values()) {
      const owner = this.#options.nodeFor(channel.name);
      if (owner === channel.node) continue;
      unsubscribe(channel);
      channel.node = owner;
      channel.failures = 0;
      this.#try(channel);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const channel of this.#channels.values()) {
      disposeChannel(channel);
      for (const tell of channel.waiting) tell();
    }
    this.#channels.clear();
  }

  newsOpened(node: RedisNode): void {
    for (const channel of this.#channels.values()) if (channel.node === node) this.#try(channel);
  }

  newsLost(link: RedisConnection): void {
    for (const channel of this.#channels.values()) {
      if (channel.link === link) channel.link = null;
      if (channel.attempt?.link === link) channel.attempt = null;
    }
  }

  onMessage(link: RedisConnection, name: string, message: string): void {
    const channel = this.#channels.get(name);
    if (channel?.link !== link) return;
    notifyListeners(channel, readOrDoubt(message));
  }

  onMoved(link: RedisConnection, name: string): void {
    this.onTopologyDoubt();
    const channel = this.#channels.get(name);
    if (channel?.link !== link) return;
    channel.link = null;
    this.#tryLater(channel);
  }

  onDataLoss(node: RedisNode): void {
    for (const channel of this.#channels.values())
      if (channel.node === node) notifyListeners(channel, SUSPECT);
  }

  onTopologyDoubt(): void {
    if (!this.#isClosed) this.#options.doubted();
  }

  #add(name: string): Channel {
    const channel = newChannel(name, this.#options.nodeFor(name));
    this.#channels.set(name, channel);
    return channel;
  }

  async #untilSubscribed(channel: Channel, listener: Listener): Promise<void> {
    const { waitMs } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        channel.waiting.delete(settle);
        if (this.#isClosed) return reject(closed());
        if (channel.link !== null) {
          // At once: news may come before the promise is seen to be fulfilled.
          channel.listeners.add(listener);
          return resolve();
        }
        const detail = `Not subscribed in ${waitMs} ms`;
        reject(new LogError("UNAVAILABLE", { detail, cause: channel.failure }));
        this.onTopologyDoubt();
        this.#letGoSoon(channel);
      };
      const timer = setTimeout(settle, waitMs);
      channel.waiting.add(settle);
      this.#try(channel);
    });
  }

  /** Without a connection there is nothing to do: the next one to open comes back here. */
  #try(channel: Channel): void {
    const link = channel.node.pubSub;
    if (link === null || channel.link !== null || channel.attempt !== null) return;
    clearTimer(channel.retry);
    channel.retry = null;
    const attempt: SubscribeAttempt = { link };
    channel.attempt = attempt;
    link.subscribe(channel.name).then(
      () => this.#succeeded(channel, attempt),
      (error: unknown) => this.#failed(channel, attempt, error),
    );
  }

  #succeeded(channel: Channel, attempt: SubscribeAttempt): void {
    if (channel.attempt !== attempt) return;
    channel.attempt = null;
    channel.link = attempt.link;
    channel.failures = 0;
    channel.failure = undefined;
    notifyListeners(channel, SUSPECT);
    for (const tell of channel.waiting) tell();
  }

  #failed(channel: Channel, attempt: SubscribeAttempt, error: unknown): void {
    if (channel.attempt !== attempt) return;
    channel.attempt = null;
    channel.failure = error;
    this.onTopologyDoubt();
    this.#tryLater(channel);
  }

  #tryLater(channel: Channel): void {
    clearTimer(channel.retry);
    const ms = backoffDelay(++channel.failures, BACKOFF, Math.random());
    channel.retry = setTimeout(() => this.#try(channel), ms).unref();
  }

  #letGoSoon(channel: Channel): void {
    if (this.#isClosed || channel.listeners.size + channel.waiting.size > 0) return;
    clearTimer(channel.lingering);
    channel.lingering = setTimeout(() => {
      this.#channels.delete(channel.name);
      unsubscribe(channel);
      disposeChannel(channel);
    }, LINGER_MS).unref();
  }
}

/** Somebody else's words on our channel: whether something was written is for the log to tell. */
function readOrDoubt(message: string): LogNotification {
  try {
    return parseNotification(message);
  } catch {
    return SUSPECT;
  }
}

function closed(): LogError {
  return new LogError("UNAVAILABLE", { detail: "The log is closed" });
}

/**
 * One channel: who listens, which server it belongs to, and how far it is subscribed there. Plain state, and the
 * steps that need nothing else; when to take them is for `channels.ts`.
 */
export type Listener = (news: LogNotification) => void;

/** An attempt to subscribe; a later one makes it void. */
export interface SubscribeAttempt {
  readonly link: RedisConnection;
}

export interface Channel {
  readonly name: string;
  readonly listeners: Set<Listener>;
  /** To be told once it is subscribed. */
  readonly waiting: Set<() => void>;
  node: RedisNode;
  /** Over which it is subscribed; null while it is not. */
  link: RedisConnection | null;
  attempt: SubscribeAttempt | null;
  failures: number;
  failure: unknown;
  retry: NodeJS.Timeout | null;
  /** Nobody listens any more, and soon it is let go. */
  lingering: NodeJS.Timeout | null;
}

export function newChannel(name: string, node: RedisNode): Channel {
  return {
    name,
    listeners: new Set(),
    waiting: new Set(),
    node,
    link: null,
    attempt: null,
    failures: 0,
    failure: undefined,
    retry: null,
    lingering: null,
  };
}

/** Takes it off its connection; an attempt under way is undone once it is over. */
export function unsubscribe(channel: Channel): void {
  const link = channel.link ?? channel.attempt?.link;
  channel.link = null;
  channel.attempt = null;
  // A connection that is gone has taken the subscription with it; a server that lost the slot has ended it.
  link?.unsubscribe(channel.name).catch(() => undefined);
}

export function disposeChannel(channel: Channel): void {
  clearTimer(channel.retry);
  clearTimer(channel.lingering);
  channel.attempt = null;
}

export function notifyListeners(channel: Channel, news: LogNotification): void {
  for (const listener of channel.listeners) listener(news);
}

export function clearTimer(timer: NodeJS.Timeout | null): void {
  if (timer !== null) clearTimeout(timer);
}
