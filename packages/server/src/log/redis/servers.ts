/**
 * Which server keeps which session: one Redis for all, or the primaries of a Redis Cluster by hash slot.
 * Follows the cluster when slots move. Never looks into a log.
 */
import type { News } from "../engine.ts";
import { Link, type LinkOptions } from "./link.ts";
import { type NodeOptions, RedisNode } from "./node.ts";
import { slotOf } from "./slot.ts";

export interface RedisServers {
  nodeFor(key: string): RedisNode;
  subscribe(channel: string, listener: (news: News) => void): Promise<() => void>;
  /** A server sent us away: look again who keeps what. */
  refresh(): Promise<void>;
  /** The server at `host:port`, for a slot that is on its way there. */
  nodeAt(address: string): RedisNode;
  close(): Promise<void>;
}

export type ServerSettings = Omit<NodeOptions, "url" | "pulseKey"> & { readonly prefix: string };

export function oneServer(url: string, settings: ServerSettings): RedisServers {
  const node = new RedisNode({ ...settings, url, pulseKey: `${settings.prefix}:pulse` });
  return {
    nodeFor: () => node,
    nodeAt: () => node,
    subscribe: (channel, listener) => node.subscribe(channel, listener),
    refresh: async () => undefined,
    close: () => node.close(),
  };
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly address: string;
}

export async function clusterServers(
  urls: readonly string[],
  settings: ServerSettings,
): Promise<RedisServers> {
  const cluster = new ClusterServers(urls, settings);
  await cluster.refresh();
  return cluster;
}

class ClusterServers implements RedisServers {
  readonly #urls: readonly string[];
  readonly #settings: ServerSettings;
  readonly #nodes = new Map<string, RedisNode>();
  #ranges: readonly Range[] = [];
  #refreshing: Promise<void> | null = null;

  constructor(urls: readonly string[], settings: ServerSettings) {
    this.#urls = urls;
    this.#settings = settings;
  }

  nodeFor(key: string): RedisNode {
    const slot = slotOf(key);
    const range = this.#ranges.find(({ from, to }) => from <= slot && slot <= to);
    return this.nodeAt(range?.address ?? this.#ranges[0]?.address ?? addressOf(this.#urls[0] ?? ""));
  }

  nodeAt(address: string): RedisNode {
    let node = this.#nodes.get(address);
    if (node === undefined) {
      node = new RedisNode({
        ...this.#settings,
        url: this.#urlOf(address),
        pulseKey: this.#pulseKey(address),
      });
      node.onMoved = () => void this.refresh().catch(() => undefined);
      this.#nodes.set(address, node);
    }
    return node;
  }

  async subscribe(channel: string, listener: (news: News) => void): Promise<() => void> {
    let leave = await this.nodeFor(channel).subscribe(channel, listener);
    this.#movers.set(listener, (moved) => (leave = moved));
    return () => {
      this.#movers.delete(listener);
      leave();
    };
  }

  readonly #movers = new Map<(news: News) => void, (leave: () => void) => void>();

  refresh(): Promise<void> {
    this.#refreshing ??= this.#lookAgain().finally(() => (this.#refreshing = null));
    return this.#refreshing;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((node) => node.close()));
  }

  async #lookAgain(): Promise<void> {
    this.#ranges = await this.#askRanges();
    const inUse = new Set(this.#ranges.map(({ address }) => address));
    for (const [address, node] of this.#nodes) {
      await this.#moveChannels(node);
      if (inUse.has(address)) continue;
      this.#nodes.delete(address);
      await node.close();
    }
  }

  /** Takes the listeners of channels that a node no longer serves to the one that does, and lets them read again. */
  async #moveChannels(node: RedisNode): Promise<void> {
    for (const channel of node.channels) {
      const owner = this.nodeFor(channel);
      if (owner === node) continue;
      for (const listener of node.release(channel)) {
        const leave = await owner.subscribe(channel, listener);
        this.#movers.get(listener)?.(leave);
        listener({ type: "suspect" });
      }
    }
  }

  async #askRanges(): Promise<Range[]> {
    const known = [...this.#nodes.keys()].map((address) => this.#urlOf(address));
    let failure: unknown = null;
    for (const url of new Set([...known, ...this.#urls])) {
      try {
        return await askRanges({ ...this.#settings, url });
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  #urlOf(address: string): string {
    const url = new URL(this.#urls[0] ?? "redis://127.0.0.1");
    url.host = address;
    return url.href;
  }

  /** A key in a slot of that very server. */
  #pulseKey(address: string): string {
    for (let n = 0; n < 100_000; n++) {
      const key = `${this.#settings.prefix}:pulse:{${n}}`;
      const slot = slotOf(key);
      if (this.#ranges.some(({ from, to, address: at }) => at === address && from <= slot && slot <= to))
        return key;
    }
    return `${this.#settings.prefix}:pulse`;
  }
}

function addressOf(url: string): string {
  return new URL(url).host;
}

async function askRanges(options: LinkOptions): Promise<Range[]> {
  const link = await Link.open(options);
  try {
    const reply = (await link.send(["CLUSTER", "SLOTS"])) as [number, number, [string, number]][];
    const { hostname } = new URL(options.url);
    // An empty host means: the one that you asked.
    return reply.map(([from, to, [host, port]]) => ({
      from,
      to,
      address: `${host === "" ? hostname : host}:${port}`,
    }));
  } finally {
    link.destroy();
  }
}
