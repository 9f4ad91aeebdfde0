/** The servers of a log: one Redis that keeps everything, or a cluster. Never looks into a log. */
import { SubscriptionManager } from "./subscriptions.ts";
import { ClusterTopology } from "./cluster.ts";
import { RedisNode } from "../connection/node.ts";
import type { RedisTopology, TopologySettings } from "./topology.ts";

export type { RedisTopology, TopologySettings } from "./topology.ts";

export function singleServer(url: string, settings: TopologySettings): RedisTopology {
  const channels = new SubscriptionManager({
    nodeFor: () => node,
    doubted: () => undefined,
    waitMs: settings.waitMs,
  });
  const node: RedisNode = new RedisNode({ ...settings, url }, channels);
  node.sentinelKey = `${settings.prefix}:pulse`;
  return {
    nodeFor: () => node,
    nodeAt: () => node,
    subscribe: (channel, listener) => channels.subscribe(channel, listener),
    refresh: async () => undefined,
    async close() {
      channels.close();
      node.close();
    },
  };
}

export async function openCluster(
  urls: readonly string[],
  settings: TopologySettings,
): Promise<RedisTopology> {
  const cluster = new ClusterTopology(urls, settings);
  // Looking doesn't keep the process alive, but somebody waits for it here.
  const held = setInterval(() => undefined, 1_000);
  try {
    await cluster.refresh();
    settings.outages.answered();
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  } finally {
    clearInterval(held);
  }
}
