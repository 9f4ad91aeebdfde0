/**
 * `SubscriptionManager` owns all channel subscriptions: the listeners of each channel and the connection over which it
 * is subscribed. Each channel follows its session to the server that has it. A channel that is not subscribed is
 * retried until it is, or until it has no listeners.
 *
 * Invariant: a listener that may have missed a message gets `possible-gap` once its channel is subscribed again. Does
 * not fetch the slot map.
 */
import type { LogNotification } from "../../engine.ts";
import { backoffDelay } from "../../../util/retry.ts";
import { LogError } from "../../errors.ts";
import type { RedisConnection } from "../connection/connection.ts";
import { isMoved, type NodeEvents, type RedisNode } from "../connection/node.ts";
import { parseNotification } from "../script-replies.ts";

export interface SubscriptionManagerOptions {
  nodeFor(channel: string): RedisNode;
  /** A server is unreachable, or replied MOVED over this connection: the slot map may be out of date. */
  onTopologyDoubt(redirectedBy?: RedisConnection): void;
  /** How long `subscribe` waits before it fails with UNAVAILABLE. */
  readonly connectionWaitMs: number;
}

/** How long a channel without listeners stays subscribed. Readers that reconnect return within moments. */
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
    const channel = this.#channels.get(name) ?? new Channel(name, this.#options.nodeFor(name));
    this.#channels.set(name, channel);
    clearTimeout(channel.releaseTimer);
    if (channel.connection === null) await this.#waitUntilSubscribed(channel, listener);
    else channel.listeners.add(listener);
    return () => {
      if (channel.listeners.delete(listener)) this.#releaseSoon(channel);
    };
  }

  /** Moves every channel to the server that now has its slot. */
  rebalance(): void {
    for (const channel of this.#channels.values()) {
      const owner = this.#options.nodeFor(channel.name);
      if (owner === channel.node) continue;
      channel.unsubscribe();
      channel.node = owner;
      channel.failures = 0;
      this.#subscribe(channel);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const channel of this.#channels.values()) {
      channel.dispose();
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
    channel.notify(parseOrPossibleGap(message));
  }

  onMoved(connection: RedisConnection, name: string): void {
    this.onTopologyDoubt(connection);
    const channel = this.#channels.get(name);
    if (channel?.connection !== connection) return;
    channel.connection = null;
    this.#retryLater(channel);
  }

  onDataLoss(node: RedisNode): void {
    for (const channel of this.#channels.values()) if (channel.node === node) channel.notify(POSSIBLE_GAP);
  }

  onTopologyDoubt(redirectedBy?: RedisConnection): void {
    if (!this.#isClosed) this.#options.onTopologyDoubt(redirectedBy);
  }

  async #waitUntilSubscribed(channel: Channel, listener: Listener): Promise<void> {
    const { connectionWaitMs } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        channel.waiting.delete(settle);
        if (this.#isClosed) return reject(closed());
        if (channel.connection !== null) {
          // Add the listener here: a notification may arrive before the caller sees the resolved promise.
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

  /** Does nothing without a connection: `onPubSubOpened` calls it again. */
  #subscribe(channel: Channel): void {
    const connection = channel.node.pubSub;
    if (connection === null || channel.connection !== null || channel.attempt !== null) return;
    clearTimeout(channel.retryTimer);
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
    channel.notify(POSSIBLE_GAP);
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
    clearTimeout(channel.retryTimer);
    const ms = backoffDelay(++channel.failures, BACKOFF, Math.random());
    channel.retryTimer = setTimeout(() => this.#subscribe(channel), ms).unref();
  }

  #releaseSoon(channel: Channel): void {
    if (this.#isClosed || channel.listeners.size + channel.waiting.size > 0) return;
    clearTimeout(channel.releaseTimer);
    channel.releaseTimer = setTimeout(() => {
      this.#channels.delete(channel.name);
      channel.unsubscribe();
      channel.dispose();
    }, RELEASE_DELAY_MS).unref();
  }
}

/** A message in an unknown format is not ours. The readers re-read the log to find out whether it was written. */
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

/** Receives the notifications of one channel. */
export type Listener = (notification: LogNotification) => void;

/** One attempt to subscribe. A later attempt replaces it. */
interface SubscribeAttempt {
  readonly connection: RedisConnection;
}

/** State of one channel. `SubscriptionManager` decides when it changes. */
class Channel {
  readonly name: string;
  readonly listeners = new Set<Listener>();
  /** Called when the channel is subscribed, and on close. */
  readonly waiting = new Set<() => void>();
  node: RedisNode;
  /** The connection over which the channel is subscribed, or null. */
  connection: RedisConnection | null = null;
  attempt: SubscribeAttempt | null = null;
  failures = 0;
  lastError: unknown;
  retryTimer: NodeJS.Timeout | undefined;
  /** Set while the channel has no listeners. It is unsubscribed when the timer fires. */
  releaseTimer: NodeJS.Timeout | undefined;

  constructor(name: string, node: RedisNode) {
    this.name = name;
    this.node = node;
  }

  /**
   * Unsubscribes the channel. A pending attempt is undone when it finishes, because commands of a channel are
   * serialized.
   */
  unsubscribe(): void {
    const connection = this.connection ?? this.attempt?.connection;
    this.connection = null;
    this.attempt = null;
    // Errors don't matter: a lost connection or a moved slot has ended the subscription already.
    connection?.unsubscribe(this.name).catch(() => undefined);
  }

  notify(notification: LogNotification): void {
    for (const listener of this.listeners) listener(notification);
  }

  dispose(): void {
    clearTimeout(this.retryTimer);
    clearTimeout(this.releaseTimer);
    this.attempt = null;
  }
}
