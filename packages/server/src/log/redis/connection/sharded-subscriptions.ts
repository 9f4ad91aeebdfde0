/**
 * `ShardedSubscriptions` manages the channels that are subscribed over one connection. They end with the connection. It
 * does not retry: `topology/subscriptions.ts` does.
 *
 * Invariant: a channel has at most one pending command. Every subscription is followed by a ping, and `isIntact`
 * compares the number of channels. The library reports that the server ended a subscription (its slot moved) only while
 * no reply is pending. Otherwise it takes that message for the reply.
 */
import type { RedisClient } from "./client.ts";

export interface ShardedSubscriptionEvents {
  onMessage(channel: string, message: string): void;
  /** The server no longer serves the channel. */
  onMoved(channel: string): void;
}

export class ShardedSubscriptions {
  readonly #client: RedisClient;
  readonly #queues = new Map<string, Promise<unknown>>();
  /** The channels that the server should have once it has answered everything sent so far. */
  readonly #expected = new Set<string>();
  /** Counts failed and moved subscriptions, so that `isIntact` ignores a count that was read meanwhile. */
  #mismatches = 0;
  /** Counts changes of the subscriptions, and those that a reply of the server has confirmed. */
  #changes = 0;
  #confirmedChanges = 0;
  #pendingPing: Promise<unknown> | null = null;
  #events: ShardedSubscriptionEvents = { onMessage: () => undefined, onMoved: () => undefined };

  constructor(client: RedisClient) {
    this.#client = client;
    client.on("sharded-channel-moved", (channel: string) => {
      this.#mismatches++;
      this.#changes++;
      this.#expected.delete(channel);
      this.#events.onMoved(channel);
    });
  }

  listen(events: ShardedSubscriptionEvents): void {
    this.#events = events;
  }

  /** Resolves when the server has confirmed the subscription. */
  subscribe(channel: string): Promise<void> {
    return this.#serialize(channel, async () => {
      this.#expected.add(channel);
      this.#changes++;
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
      this.#changes++;
      await this.#client.sUnsubscribe(channel, this.#onMessage);
    });
  }

  /**
   * Returns false if the server has another number of subscriptions than expected. Returns true if the server reports
   * none. A lost subscription stays unnoticed only while a reply is pending, so it asks the server only after that.
   * @param sent how many other commands were sent over the connection
   */
  async isIntact(sent: number): Promise<boolean> {
    const { size } = this.#expected;
    const changes = this.#changes + sent;
    if (size === 0 || changes === this.#confirmedChanges) return true;
    const mismatches = this.#mismatches;
    const info = await this.#client.sendCommand<string>(["CLIENT", "INFO"]).catch(() => "");
    const count = /\bssub=(\d+)/.exec(info)?.[1];
    if (count === undefined || mismatches !== this.#mismatches) return true;
    if (Number(count) === size) this.#confirmedChanges = changes;
    return Number(count) === size;
  }

  readonly #onMessage = (message: string, channel: string): void => this.#events.onMessage(channel, message);

  /** One command per channel at a time: the library mishandles a second one while the first is pending. */
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

  /** Resolves when everything sent so far is answered. Callers in the same tick share one ping. */
  #ping(): Promise<unknown> {
    this.#pendingPing ??= Promise.resolve().then(() => {
      this.#pendingPing = null;
      return this.#client.sendCommand(["PING"]);
    });
    return this.#pendingPing;
  }
}
