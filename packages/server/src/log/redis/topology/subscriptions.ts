/**
 * Who listens to which channel, and over which connection each channel comes: the one place that knows. A channel
 * belongs to the server that keeps its session and follows it; one that is not subscribed is tried again until it
 * is, or until nobody wants it any more. Never asks who keeps what, and never waits for a server to move a channel.
 *
 * A listener that may have missed something gets `possible-gap` once its channel is subscribed again.
 */
import type { LogNotification } from "../../engine.ts";
import { backoffDelay } from "../../../util/retry.ts";
import { LogError } from "../../errors.ts";
import type { RedisConnection } from "../connection/connection.ts";
import { isMoved, type NodeEvents, type RedisNode } from "../connection/node.ts";
import { parseNotification } from "../script-replies.ts";

export interface SubscriptionManagerOptions {
  nodeFor(channel: string): RedisNode;
  /** A server can't be reached, or replied MOVED over this connection: the slot map may be out of date. */
  onTopologyDoubt(redirectedBy?: RedisConnection): void;
  /** How long a subscriber waits. */
  readonly connectionWaitMs: number;
}

/** Readers who reconnect come back within moments. */
const RELEASE_DELAY_MS = 1_000;
const BACKOFF = { initialDelayMs: 50, maxDelayMs: 1_000 };

const POSSIBLE_GAP: LogNotification = { type: "possible-gap" };

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
    clearTimer(channel.releaseTimer);
    channel.releaseTimer = null;
    if (channel.connection === null) await this.#waitUntilSubscribed(channel, listener);
    else channel.listeners.add(listener);
    return () => {
      if (channel.listeners.delete(listener)) this.#releaseSoon(channel);
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
      this.#subscribe(channel);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const channel of this.#channels.values()) {
      disposeChannel(channel);
      for (const settle of channel.waiting) settle();
    }
    this.#channels.clear();
  }

  onPubSubOpened(node: RedisNode): void {
    for (const channel of this.#channels.values()) if (channel.node === node) this.#subscribe(channel);
  }

  onPubSubLost(connection: RedisConnection): void {
    for (const channel of this.#channels.values()) {
      if (channel.connection === connection) channel.connection = null;
      if (channel.attempt?.connection === connection) channel.attempt = null;
    }
  }

  onMessage(connection: RedisConnection, name: string, message: string): void {
    const channel = this.#channels.get(name);
    if (channel?.connection !== connection) return;
    notifyListeners(channel, parseOrPossibleGap(message));
  }

  onMoved(connection: RedisConnection, name: string): void {
    this.onTopologyDoubt(connection);
    const channel = this.#channels.get(name);
    if (channel?.connection !== connection) return;
    channel.connection = null;
    this.#retryLater(channel);
  }

  onDataLoss(node: RedisNode): void {
    for (const channel of this.#channels.values())
      if (channel.node === node) notifyListeners(channel, POSSIBLE_GAP);
  }

  onTopologyDoubt(redirectedBy?: RedisConnection): void {
    if (!this.#isClosed) this.#options.onTopologyDoubt(redirectedBy);
  }

  #add(name: string): Channel {
    const channel = newChannel(name, this.#options.nodeFor(name));
    this.#channels.set(name, channel);
    return channel;
  }

  async #waitUntilSubscribed(channel: Channel, listener: Listener): Promise<void> {
    const { connectionWaitMs } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        channel.waiting.delete(settle);
        if (this.#isClosed) return reject(closed());
        if (channel.connection !== null) {
          // At once: a notification may come before the promise is seen to be fulfilled.
          channel.listeners.add(listener);
          return resolve();
        }
        const detail = `Not subscribed in ${connectionWaitMs} ms`;
        reject(new LogError("UNAVAILABLE", { detail, cause: channel.lastError }));
        this.onTopologyDoubt();
        this.#releaseSoon(channel);
      };
      const timer = setTimeout(settle, connectionWaitMs);
      channel.waiting.add(settle);
      this.#subscribe(channel);
    });
  }

  /** Without a connection there is nothing to do: the next one to open comes back here. */
  #subscribe(channel: Channel): void {
    const connection = channel.node.pubSub;
    if (connection === null || channel.connection !== null || channel.attempt !== null) return;
    clearTimer(channel.retryTimer);
    channel.retryTimer = null;
    const attempt: SubscribeAttempt = { connection };
    channel.attempt = attempt;
    connection.subscribe(channel.name).then(
      () => this.#succeeded(channel, attempt),
      (error: unknown) => this.#failed(channel, attempt, error),
    );
  }

  #succeeded(channel: Channel, attempt: SubscribeAttempt): void {
    if (channel.attempt !== attempt) return;
    channel.attempt = null;
    channel.connection = attempt.connection;
    channel.failures = 0;
    channel.lastError = undefined;
    notifyListeners(channel, POSSIBLE_GAP);
    for (const settle of channel.waiting) settle();
  }

  #failed(channel: Channel, attempt: SubscribeAttempt, error: unknown): void {
    if (channel.attempt !== attempt) return;
    channel.attempt = null;
    channel.lastError = error;
    this.onTopologyDoubt(isMoved(error) ? attempt.connection : undefined);
    this.#retryLater(channel);
  }

  #retryLater(channel: Channel): void {
    clearTimer(channel.retryTimer);
    const ms = backoffDelay(++channel.failures, BACKOFF, Math.random());
    channel.retryTimer = setTimeout(() => this.#subscribe(channel), ms).unref();
  }

  #releaseSoon(channel: Channel): void {
    if (this.#isClosed || channel.listeners.size + channel.waiting.size > 0) return;
    clearTimer(channel.releaseTimer);
    channel.releaseTimer = setTimeout(() => {
      this.#channels.delete(channel.name);
      unsubscribe(channel);
      disposeChannel(channel);
    }, RELEASE_DELAY_MS).unref();
  }
}

/** A message that is not ours: whether something was written is for the log to say. */
function parseOrPossibleGap(message: string): LogNotification {
  try {
    return parseNotification(message);
  } catch {
    return POSSIBLE_GAP;
  }
}

function closed(): LogError {
  return new LogError("UNAVAILABLE", { detail: "The log is closed" });
}

/**
 * One channel: who listens, which server it belongs to, and how far it is subscribed there. Plain state, and the
 * steps that need nothing else; when to take them is for `subscriptions.ts`.
 */
export type Listener = (notification: LogNotification) => void;

/** An attempt to subscribe; a later one makes it void. */
export interface SubscribeAttempt {
  readonly connection: RedisConnection;
}

export interface Channel {
  readonly name: string;
  readonly listeners: Set<Listener>;
  /** Called once it is subscribed. */
  readonly waiting: Set<() => void>;
  node: RedisNode;
  /** Over which it is subscribed; null while it is not. */
  connection: RedisConnection | null;
  attempt: SubscribeAttempt | null;
  failures: number;
  lastError: unknown;
  retryTimer: NodeJS.Timeout | null;
  /** Nobody listens any more, and soon it is let go. */
  releaseTimer: NodeJS.Timeout | null;
}

function newChannel(name: string, node: RedisNode): Channel {
  return {
    name,
    listeners: new Set(),
    waiting: new Set(),
    node,
    connection: null,
    attempt: null,
    failures: 0,
    lastError: undefined,
    retryTimer: null,
    releaseTimer: null,
  };
}

/** Takes it off its connection; an attempt under way is undone once it is over. */
function unsubscribe(channel: Channel): void {
  const connection = channel.connection ?? channel.attempt?.connection;
  channel.connection = null;
  channel.attempt = null;
  // A connection that is gone has taken the subscription with it; a server that lost the slot has ended it.
  connection?.unsubscribe(channel.name).catch(() => undefined);
}

function disposeChannel(channel: Channel): void {
  clearTimer(channel.retryTimer);
  clearTimer(channel.releaseTimer);
  channel.attempt = null;
}

function notifyListeners(channel: Channel, notification: LogNotification): void {
  for (const listener of channel.listeners) listener(notification);
}

function clearTimer(timer: NodeJS.Timeout | null): void {
  if (timer !== null) clearTimeout(timer);
}
