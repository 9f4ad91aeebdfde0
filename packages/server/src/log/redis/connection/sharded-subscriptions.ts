/**
 * The channels subscribed over one connection. They don't outlive it, and nothing is tried twice here: who
 * subscribes is told how it went (`channels.ts` tries again).
 *
 * The library tells the end of a subscription that the server ends (its slot has moved) only while no answer is
 * awaited; otherwise it takes it for that answer. Hence the ping behind a subscription, and the count.
 */
import type { RedisClient } from "./client.ts";

export interface ShardedSubscriptionEvents {
  onMessage(channel: string, message: string): void;
  /** The server says that the channel is no longer its business. */
  moved(channel: string): void;
}

export class ShardedSubscriptions {
  readonly #client: RedisClient;
  readonly #turns = new Map<string, Promise<unknown>>();
  /** What the server should hold once it has answered everything sent so far. */
  readonly #asked = new Set<string>();
  /** How often it went otherwise. */
  #surprises = 0;
  #answered: Promise<unknown> | null = null;
  #events: ShardedSubscriptionEvents = { onMessage: () => undefined, moved: () => undefined };

  constructor(client: RedisClient) {
    this.#client = client;
    client.on("sharded-channel-moved", (channel: string) => {
      this.#surprises++;
      this.#asked.delete(channel);
      this.#events.moved(channel);
    });
  }

  report(events: ShardedSubscriptionEvents): void {
    this.#events = events;
  }

  /** Fulfilled once the server has said yes. */
  subscribe(channel: string): Promise<void> {
    return this.#inTurn(channel, async () => {
      this.#asked.add(channel);
      try {
        await Promise.all([this.#client.sSubscribe(channel, this.#hear), this.#allAnswered()]);
      } catch (error) {
        this.#surprises++;
        this.#asked.delete(channel);
        throw error;
      }
    });
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#inTurn(channel, async () => {
      this.#asked.delete(channel);
      await this.#client.sUnsubscribe(channel, this.#hear);
    });
  }

  /** Whether the server holds as many subscriptions as we think. A server that doesn't tell is believed. */
  async isIntact(): Promise<boolean> {
    const { size } = this.#asked;
    if (size === 0) return true;
    const surprises = this.#surprises;
    const info = await this.#client.sendCommand<string>(["CLIENT", "INFO"]).catch(() => "");
    const held = /\bssub=(\d+)/.exec(info)?.[1];
    return held === undefined || surprises !== this.#surprises || Number(held) === size;
  }

  readonly #hear = (message: string, channel: string): void => this.#events.onMessage(channel, message);

  /** The library mistakes a second command for a channel while the first one is under way. */
  #inTurn(channel: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(channel);
    const turn = before === undefined ? work() : before.then(work);
    const over = turn
      .catch(() => undefined)
      .finally(() => {
        if (this.#turns.get(channel) === over) this.#turns.delete(channel);
      });
    this.#turns.set(channel, over);
    return turn;
  }

  /** Fulfilled once whatever was sent so far is answered; one ping for all who ask in the same moment. */
  #allAnswered(): Promise<unknown> {
    this.#answered ??= Promise.resolve().then(() => {
      this.#answered = null;
      return this.#client.sendCommand(["PING"]);
    });
    return this.#answered;
  }
}
