/**
 * `ClusterTopology` tracks the primaries of a Redis Cluster and their slots. It fetches the slot map every few seconds,
 * and sooner after MOVED or when a server is unreachable. Does not wait for subscriptions.
 *
 * Invariant: the slot map may be out of date. That is safe: a server without the slot replies MOVED, and the log's
 * fence protects appends. One fetch runs at a time. `refresh` never reuses the running one, which may have missed a
 * move, and first asks the server that replied MOVED. A slot without a server keeps its last one. A server without
 * slots is closed, unless a slot is migrating to it.
 */
import { sleep } from "../../../util/sleep.ts";
import { LogError } from "../../errors.ts";
import { addressOf, hostOf, parseRedirection, urlAt } from "../connection/address.ts";
import { RedisConnection, unavailable } from "../connection/connection.ts";
import { RedisNode } from "../connection/node.ts";
import { withTimeout } from "../connection/with-timeout.ts";
import { parseSlotMap, type SlotMap, slotOf, SLOTS } from "./slot-map.ts";
import { SubscriptionManager, type Listener } from "./subscriptions.ts";
import type { RedisTopology, TopologySettings } from "./topology.ts";

/** How often the slot map is fetched while nothing is in doubt. */
const REFRESH_INTERVAL_MS = 3_000;
/** How soon after the last fetch the slot map is fetched again while it is in doubt. */
const DOUBT_INTERVAL_MS = 500;
/** Minimum time between two fetches. One move redirects many commands. */
const MIN_INTERVAL_MS = 100;
/** How long a server without slots stays connected while a slot is migrating to it. */
const EXPECTED_MS = 30_000;
/** A server that hangs must not delay the slot map for the whole response timeout, because others can be asked. */
const MAX_ANSWER_MS = 1_000;

/** A server with an open connection, or a URL. */
type Source = { readonly connection: RedisConnection; readonly host: string } | string;

/** @throws LogError with UNAVAILABLE if no server returns the slot map. Everything is closed again then. */
export async function openCluster(
  urls: readonly string[],
  settings: TopologySettings,
): Promise<RedisTopology> {
  const cluster = new ClusterTopology(urls, settings);
  // The fetch of the slot map does not keep the process alive, but the caller waits for it here.
  const keepAlive = setInterval(() => undefined, 1_000);
  try {
    await cluster.refresh();
    settings.outages.hasConnected = true;
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  } finally {
    clearInterval(keepAlive);
  }
}

class ClusterTopology implements RedisTopology {
  readonly #seeds: readonly string[];
  readonly #settings: TopologySettings;
  readonly #subscriptions: SubscriptionManager;
  readonly #nodes = new Map<string, RedisNode>();
  /** Until when a server without slots stays connected, by address. */
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
    // Don't reuse the fetch that is running: it may have missed the move that the caller knows of.
    this.#nextRefresh ??= this.#refreshAfter(this.#refreshing);
    return this.#nextRefresh;
  }

  async connected(): Promise<void> {
    await Promise.allSettled([...this.#nodes.values()].map((node) => node.waitForConnection()));
  }

  async close(): Promise<void> {
    this.#closing.abort(new LogError("UNAVAILABLE", { detail: "The log is closed" }));
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#subscriptions.close();
    for (const node of this.#nodes.values()) node.close();
    this.#nodes.clear();
  }

  #node(address: string): RedisNode {
    let node = this.#nodes.get(address);
    if (node === undefined) {
      const url = urlAt(address, this.#seeds[0] ?? "redis://127.0.0.1");
      node = new RedisNode({ ...this.#settings, url }, this.#subscriptions);
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

  /** Schedules a fetch, unless an earlier one is scheduled. */
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
      signal.throwIfAborted();
      const slots = await this.#fetchSlotMap();
      signal.throwIfAborted();
      this.#apply(slots);
    } finally {
      this.#refreshes++;
      this.#refreshedAt = performance.now();
      this.#dueAt = Infinity;
      this.#refreshBy(this.#refreshedAt + REFRESH_INTERVAL_MS);
    }
  }

  /** Asks one server after the other until one answers. */
  async #fetchSlotMap(): Promise<SlotMap> {
    let failure: LogError | null = null;
    for (const source of this.#sources()) {
      if (this.#closing.signal.aborted) break;
      try {
        return await (typeof source === "string" ? this.#askUrl(source) : this.#ask(source));
      } catch (error) {
        failure ??= unavailable(error);
      }
    }
    throw (
      failure ?? new LogError("UNAVAILABLE", { detail: "There is no server that could return the slot map" })
    );
  }

  async #askUrl(url: string): Promise<SlotMap> {
    const connection = await RedisConnection.open({ ...this.#settings, url }, this.#closing.signal);
    try {
      return await this.#ask({ connection, host: hostOf(addressOf(url)) });
    } finally {
      connection.destroy();
    }
  }

  async #ask({ connection, host }: Exclude<Source, string>): Promise<SlotMap> {
    const ms = Math.min(this.#settings.responseTimeoutMs, MAX_ANSWER_MS);
    const reply = await withTimeout(connection.send(["CLUSTER", "SLOTS"]), { ms, message: "No answer" });
    return parseSlotMap(reply, host);
  }

  #apply(slots: SlotMap): void {
    const anyAddress = slots.find((address) => address !== null);
    if (anyAddress === undefined) throw new LogError("UNAVAILABLE", { detail: "The slot map has no server" });
    const before = this.#slots;
    // A slot without a server may return to its last server.
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

  /** Connects to each server before it is needed, so that other servers can be asked when one is lost. */
  #prepare(address: string): void {
    const node = this.#node(address);
    const isOwn = (key: string) => this.#slots[slotOf(key)] === address;
    if (node.sentinelKey !== null && isOwn(node.sentinelKey)) return;
    let key: string | null = null;
    for (let n = 0; key === null && n < SLOTS * 10; n++) {
      const candidate = `${this.#settings.keyPrefix}:pulse:{${n}}`;
      if (isOwn(candidate)) key = candidate;
    }
    node.sentinelKey = key;
  }

  /**
   * Returns the servers in the order in which they are asked. The order rotates, so that no server is trusted forever.
   */
  #sources(): Source[] {
    const redirectedBy = this.#redirectedBy;
    this.#redirectedBy = null;
    const connected = [...this.#nodes].flatMap(([address, { connection, pubSub }]) => {
      if (connection === null) return [];
      const isFirst = redirectedBy !== null && (redirectedBy === connection || redirectedBy === pubSub);
      return [{ connection, host: hostOf(address), isFirst }];
    });
    // The connected servers may be partitioned from the others and know only old addresses, so the seeds rotate with
    // them.
    const isWhole = connected.length === this.#nodes.size;
    const sources: Source[] = isWhole
      ? [...rotate(connected, this.#refreshes), ...this.#seeds]
      : rotate<Source>([...connected, ...this.#seeds], this.#refreshes);
    return [...connected.filter(({ isFirst }) => isFirst), ...sources];
  }
}

function rotate<T>(items: readonly T[], by: number): T[] {
  const start = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}
