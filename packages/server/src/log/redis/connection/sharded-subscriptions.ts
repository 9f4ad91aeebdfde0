/**
 * The channels subscribed over one connection. They don't outlive it, and nothing is tried twice here: who
 * subscribes is told how it went (`subscriptions.ts` tries again).
 *
 * The library tells the end of a subscription that the server ends (its slot has moved) only while no answer is
 * awaited; otherwise it takes it for that answer. Hence the ping behind a subscription, and the count.
 */
import type { RedisClient } from "./client.ts";

export interface ShardedSubscriptionEvents {
  onMessage(channel: string, message: string): void;
  /** The server says that the channel is no longer its business. */
  onMoved(channel: string): void;
}

export class ShardedSubscriptions {
  readonly #client: RedisClient;
  readonly #queues = new Map<string, Promise<unknown>>();
  /** What the server should hold once it has answered everything sent so far. */
  readonly #expected = new Set<string>();
  /** How often it went otherwise. */
  #mismatches = 0;
  #pendingPing: Promise<unknown> | null = null;
  #events: ShardedSubscriptionEvents = { onMessage: () => undefined, onMoved: () => undefined };

  constructor(client: RedisClient) {
    this.#client = client;
    client.on("sharded-channel-moved", (channel: string) => {
      this.#mismatches++;
      this.#expected.delete(channel);
      this.#events.onMoved(channel);
    });
  }

  listen(events: ShardedSubscriptionEvents): void {
    this.#events = events;
  }

  /** Fulfilled once the server has said yes. */
  subscribe(channel: string): Promise<void> {
    return this.#serialize(channel, async () => {
      this.#expected.add(channel);
      try {
        await Promise.all([this.#client.sSubscribe(channel, this.#onMessage), this.#ping()]);
      } catch (error) {
        this.#mismatches++;
        this.#expected.delete(channel);
        throw error;
      }
    });
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#serialize(channel, async () => {
      this.#expected.delete(channel);
      await this.#client.sUnsubscribe(channel, this.#onMessage);
    });
  }

  /** Whether the server holds as many subscriptions as we think. A server that doesn't tell is believed. */
  async isIntact(): Promise<boolean> {
    const { size } = this.#expected;
    if (size === 0) return true;
    const mismatches = this.#mismatches;
    const info = await this.#client.sendCommand<string>(["CLIENT", "INFO"]).catch(() => "");
    const count = /\bssub=(\d+)/.exec(info)?.[1];
    return count === undefined || mismatches !== this.#mismatches || Number(count) === size;
  }

  readonly #onMessage = (message: string, channel: string): void => this.#events.onMessage(channel, message);

  /** The library mistakes a second command for a channel while the first one is under way. */
  #serialize(channel: string, work: () => Promise<void>): Promise<void> {
    const before = this.#queues.get(channel);
    const turn = before === undefined ? work() : before.then(work);
    const over = turn
      .catch(() => undefined)
      .finally(() => {
        if (this.#queues.get(channel) === over) this.#queues.delete(channel);
      });
    this.#queues.set(channel, over);
    return turn;
  }

  /** Fulfilled once whatever was sent so far is answered; one ping for all who ask in the same moment. */
  #ping(): Promise<unknown> {
    this.#pendingPing ??= Promise.resolve().then(() => {
      this.#pendingPing = null;
      return this.#client.sendCommand(["PING"]);
    });
    return this.#pendingPing;
  }
}
