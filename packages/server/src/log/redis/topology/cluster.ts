/**
 * The primaries of a Redis Cluster, each with its slots. `ClusterTopology` asks one server for the slot map every few
 * seconds, and soon when the map is in doubt: a server replies MOVED, or can't be reached. It asks the server that replied
 * MOVED first, because that one knows of the move. Never waits for a subscription.
 */
import { sleep } from "../../../util/sleep.ts";
import { LogError } from "../../errors.ts";
import { addressOf, hostOf, parseRedirection, urlAt } from "../connection/address.ts";
import type { RedisConnection } from "../connection/connection.ts";
import { RedisNode } from "../connection/node.ts";
import { fetchSlotMap, type TopologySource } from "./fetch-topology.ts";
import { type SlotMap, slotOf, SLOTS } from "./slot-map.ts";
import { SubscriptionManager, type Listener } from "./subscriptions.ts";
import type { RedisTopology, TopologySettings } from "./topology.ts";

/** How often the slot map is fetched although nothing is in doubt. */
const REFRESH_INTERVAL_MS = 3_000;
/** How often it is fetched while it is in doubt. */
const DOUBT_INTERVAL_MS = 500;
/** How often commands that were redirected may have it fetched: many are redirected by one move. */
const MIN_INTERVAL_MS = 100;
/** How long a server is connected that has no slot yet, because one is on its way there. */
const EXPECTED_MS = 30_000;

export class ClusterTopology implements RedisTopology {
  readonly #seeds: readonly string[];
  readonly #settings: TopologySettings;
  readonly #subscriptions: SubscriptionManager;
  readonly #nodes = new Map<string, RedisNode>();
  /** Until when a server stays connected that has no slots, by address. */
  readonly #expected = new Map<string, number>();
  readonly #closing = new AbortController();
  #slots: readonly string[] = [];
  #refreshing: Promise<void> = Promise.resolve();
  #nextRefresh: Promise<void> | null = null;
  #refreshes = 0;
  #refreshedAt = -Infinity;
  #redirectedBy: RedisConnection | null = null;
  #timer: NodeJS.Timeout | null = null;
  #dueAt = Infinity;

  constructor(seeds: readonly string[], settings: TopologySettings) {
    this.#seeds = seeds;
    this.#settings = settings;
    this.#subscriptions = new SubscriptionManager({
      nodeFor: (channel) => this.nodeFor(channel),
      onTopologyDoubt: (redirectedBy) => {
        this.#redirectedBy = redirectedBy ?? this.#redirectedBy;
        this.#refreshBy(this.#refreshedAt + DOUBT_INTERVAL_MS);
      },
      connectionWaitMs: settings.connectionWaitMs,
    });
  }

  nodeFor(key: string): RedisNode {
    return this.#node(this.#slots[slotOf(key)] ?? addressOf(this.#seeds[0] ?? ""));
  }

  nodeAt(redirection: string): RedisNode {
    const address = parseRedirection(redirection, hostOf(addressOf(this.#seeds[0] ?? "")));
    this.#expected.set(address, performance.now() + EXPECTED_MS);
    return this.#node(address);
  }

  subscribe(channel: string, listener: Listener): Promise<() => void> {
    return this.#subscriptions.subscribe(channel, listener);
  }

  refresh(redirectedBy: RedisConnection | null = null): Promise<void> {
    this.#redirectedBy = redirectedBy ?? this.#redirectedBy;
    // Not the one under way: the caller knows of a move that it may have missed.
    this.#nextRefresh ??= this.#refreshAfter(this.#refreshing);
    return this.#nextRefresh;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#subscriptions.close();
    for (const node of this.#nodes.values()) node.close();
    this.#nodes.clear();
  }

  #node(address: string): RedisNode {
    let node = this.#nodes.get(address);
    if (node === undefined) {
      node = new RedisNode({ ...this.#settings, url: this.#urlAt(address) }, this.#subscriptions);
      if (this.#closing.signal.aborted) node.close();
      else this.#nodes.set(address, node);
    }
    return node;
  }

  async #refreshAfter(before: Promise<void>): Promise<void> {
    await before.catch(() => undefined);
    const { signal } = this.#closing;
    const ms = this.#refreshedAt + MIN_INTERVAL_MS - performance.now();
    if (ms > 0) await sleep(ms, { signal, unref: true }).catch(() => undefined);
    this.#nextRefresh = null;
    this.#refreshing = this.#refreshNow();
    await this.#refreshing;
  }

  /** Keeps an earlier date. */
  #refreshBy(dueAt: number): void {
    if (this.#closing.signal.aborted || dueAt >= this.#dueAt) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    const refresh = () => void this.refresh().catch(() => undefined);
    this.#timer = setTimeout(refresh, Math.max(0, dueAt - performance.now())).unref();
  }

  async #refreshNow(): Promise<void> {
    const { signal } = this.#closing;
    try {
      if (signal.aborted) throw closed();
      const slots = await fetchSlotMap(this.#sources(), { ...this.#settings, signal });
      if (signal.aborted) throw closed();
      this.#apply(slots);
    } finally {
      this.#refreshes++;
      this.#refreshedAt = performance.now();
      this.#dueAt = Infinity;
      this.#refreshBy(this.#refreshedAt + REFRESH_INTERVAL_MS);
    }
  }

  #apply(slots: SlotMap): void {
    const anyAddress = slots.find((address) => address !== null);
    if (anyAddress === undefined) throw new LogError("UNAVAILABLE", { detail: "No server has any slot" });
    const before = this.#slots;
    // A slot without a server may come back to where it was.
    this.#slots = slots.map((address, slot) => address ?? before[slot] ?? anyAddress);
    const inUse = new Set(this.#slots);
    for (const address of inUse) this.#prepare(address);
    this.#subscriptions.rebalance();
    for (const [address, node] of this.#nodes) {
      if (inUse.has(address) || (this.#expected.get(address) ?? 0) > performance.now()) continue;
      this.#expected.delete(address);
      this.#nodes.delete(address);
      node.close();
    }
  }

  /** Connected before it is needed, so that there are others to ask when one is lost. */
  #prepare(address: string): void {
    const node = this.#node(address);
    const isOwn = (key: string) => this.#slots[slotOf(key)] === address;
    if (node.sentinelKey !== null && isOwn(node.sentinelKey)) return;
    node.sentinelKey = this.#findSentinelKey(isOwn);
  }

  #findSentinelKey(isOwn: (key: string) => boolean): string | null {
    for (let n = 0; n < SLOTS * 10; n++) {
      const key = `${this.#settings.keyPrefix}:pulse:{${n}}`;
      if (isOwn(key)) return key;
    }
    return null;
  }

  /** In the order in which they are asked; another one is first each time, so that none is trusted for ever. */
  #sources(): TopologySource[] {
    const redirectedBy = this.#redirectedBy;
    this.#redirectedBy = null;
    const connected = [...this.#nodes].flatMap(([address, { connection, pubSub }]) => {
      if (connection === null) return [];
      const isFirst = redirectedBy !== null && (redirectedBy === connection || redirectedBy === pubSub);
      return [{ connection, host: hostOf(address), isFirst }];
    });
    // Those that are left may be cut off from the others, and know only old addresses.
    const isWhole = connected.length === this.#nodes.size;
    const sources: TopologySource[] = isWhole
      ? [...rotate(connected, this.#refreshes), ...this.#seeds]
      : rotate<TopologySource>([...connected, ...this.#seeds], this.#refreshes);
    return [...connected.filter(({ isFirst }) => isFirst), ...sources];
  }

  #urlAt(address: string): string {
    return urlAt(address, this.#seeds[0] ?? "redis://127.0.0.1");
  }
}

function rotate<T>(items: readonly T[], by: number): T[] {
  const start = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

function closed(): LogError {
  return new LogError("UNAVAILABLE", { detail: "The log is closed" });
}
