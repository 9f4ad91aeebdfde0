/**
 * The primaries of a Redis Cluster, each with its slots. Looks who keeps what every few seconds, and at once when
 * something is in doubt: a server sends us away, or can't be reached. Never waits for a subscription.
 */
import { LogError } from "../../errors.ts";
import { addressOf, hostOf, parseRedirection, urlAt } from "../connection/address.ts";
import { fetchTopologies, type TopologyQuery } from "./fetch-topology.ts";
import { SubscriptionManager, type Listener } from "./subscriptions.ts";
import { RedisNode } from "../connection/node.ts";
import type { RedisTopology, TopologySettings } from "./topology.ts";
import { mergeTopologyViews, type SlotMap, slotOf, SLOTS } from "./slot-map.ts";
import { sleep } from "../../../util/sleep.ts";

/** How often to look although nothing is in doubt. */
const LOOK_MS = 3_000;
/** A doubt that stays makes us look this often. */
const DOUBT_MS = 500;
/** A command that is sent away makes us look at most this often: they all hear of it, but not at once. */
const REFRESH_MS = 100;
/** A server that a slot is on its way to keeps none yet. */
const EXPECTED_MS = 30_000;

export class ClusterTopology implements RedisTopology {
  readonly #seeds: readonly string[];
  readonly #settings: TopologySettings;
  readonly #channels: SubscriptionManager;
  readonly #nodes = new Map<string, RedisNode>();
  /** Until when a server is kept that has no slots. */
  readonly #expected = new Map<string, number>();
  readonly #closing = new AbortController();
  #slots: readonly string[] = [];
  #looking: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  #looks = 0;
  #lookedAt = -Infinity;
  #timer: NodeJS.Timeout | null = null;
  #due = Infinity;

  constructor(seeds: readonly string[], settings: TopologySettings) {
    this.#seeds = seeds;
    this.#settings = settings;
    this.#channels = new SubscriptionManager({
      nodeFor: (channel) => this.nodeFor(channel),
      doubted: () => this.#lookBy(this.#lookedAt + DOUBT_MS),
      waitMs: settings.waitMs,
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
    return this.#channels.subscribe(channel, listener);
  }

  refresh(): Promise<void> {
    // Not the look under way: who asks now knows something that it may have missed.
    this.#next ??= this.#lookAfter(this.#looking);
    return this.#next;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#channels.close();
    for (const node of this.#nodes.values()) node.close();
    this.#nodes.clear();
  }

  #node(address: string): RedisNode {
    let node = this.#nodes.get(address);
    if (node === undefined) {
      node = new RedisNode({ ...this.#settings, url: this.#urlAt(address) }, this.#channels);
      if (this.#closing.signal.aborted) node.close();
      else this.#nodes.set(address, node);
    }
    return node;
  }

  async #lookAfter(before: Promise<void>): Promise<void> {
    await before.catch(() => undefined);
    const ms = this.#lookedAt + REFRESH_MS - performance.now();
    if (ms > 0) await sleep(ms, { signal: this.#closing.signal, unref: true }).catch(() => undefined);
    this.#next = null;
    this.#looking = this.#look();
    await this.#looking;
  }

  /** Sooner, if that is already so. */
  #lookBy(due: number): void {
    if (this.#closing.signal.aborted || due >= this.#due) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#due = due;
    const look = () => void this.refresh().catch(() => undefined);
    this.#timer = setTimeout(look, Math.max(0, due - performance.now())).unref();
  }

  async #look(): Promise<void> {
    const { signal } = this.#closing;
    try {
      if (signal.aborted) throw closed();
      const views = await fetchTopologies(this.#whomToAsk(), this.#seeds, { ...this.#settings, signal });
      if (signal.aborted) throw closed();
      this.#take(mergeTopologyViews(views));
    } finally {
      this.#looks++;
      this.#lookedAt = performance.now();
      this.#due = Infinity;
      this.#lookBy(this.#lookedAt + LOOK_MS);
    }
  }

  #take(found: SlotMap): void {
    const anybody = found.find((address) => address !== null);
    if (anybody === undefined) throw new LogError("UNAVAILABLE", { detail: "Nobody keeps any slot" });
    const before = this.#slots;
    // A slot that nobody keeps may come back to where it was.
    this.#slots = found.map((address, slot) => address ?? before[slot] ?? anybody);
    const inUse = new Set(this.#slots);
    for (const address of inUse) this.#see(address);
    this.#channels.rebalance();
    for (const [address, node] of this.#nodes) {
      if (inUse.has(address) || (this.#expected.get(address) ?? 0) > performance.now()) continue;
      this.#expected.delete(address);
      this.#nodes.delete(address);
      node.close();
    }
  }

  /** Connected before it is needed, so that there are others to ask when one is gone. */
  #see(address: string): void {
    const node = this.#node(address);
    const isOwn = (key: string) => this.#slots[slotOf(key)] === address;
    if (node.sentinelKey !== null && isOwn(node.sentinelKey)) return;
    node.sentinelKey = this.#findKey(isOwn);
  }

  #findKey(isOwn: (key: string) => boolean): string | null {
    for (let n = 0; n < SLOTS * 10; n++) {
      const key = `${this.#settings.prefix}:pulse:{${n}}`;
      if (isOwn(key)) return key;
    }
    return null;
  }

  #whomToAsk(): TopologyQuery {
    const links = [...this.#nodes].flatMap(([address, { link }]) =>
      link === null ? [] : [{ link, host: hostOf(address) }],
    );
    return { links, of: this.#nodes.size, turn: this.#looks };
  }

  #urlAt(address: string): string {
    return urlAt(address, this.#seeds[0] ?? "redis://127.0.0.1");
  }
}

function closed(): LogError {
  return new LogError("UNAVAILABLE", { detail: "The log is closed" });
}
