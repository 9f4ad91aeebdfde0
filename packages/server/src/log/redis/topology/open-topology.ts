/**
 * `singleServer` and `openCluster` open the Redis servers of a log. Both return a `RedisTopology`. Neither reads or
 * writes a log.
 *
 * Invariant: every node with slots has a sentinel key; without it, wiped data stays unnoticed. `openCluster` closes
 * everything again if it can't fetch the slot map.
 */
import { SubscriptionManager } from "./subscriptions.ts";
import { ClusterTopology } from "./cluster.ts";
import { RedisNode } from "../connection/node.ts";
import type { RedisTopology, TopologySettings } from "./topology.ts";

export type { RedisTopology, TopologySettings } from "./topology.ts";

const ignore = (): void => undefined;

export function singleServer(url: string, settings: TopologySettings): RedisTopology {
  const subscriptions = new SubscriptionManager({
    nodeFor: () => node,
    onTopologyDoubt: () => undefined,
    connectionWaitMs: settings.connectionWaitMs,
  });
  const node: RedisNode = new RedisNode({ ...settings, url }, subscriptions);
  node.sentinelKey = `${settings.keyPrefix}:pulse`;
  return {
    nodeFor: () => node,
    nodeAt: () => node,
    subscribe: (channel, listener) => subscriptions.subscribe(channel, listener),
    refresh: async () => undefined,
    connected: () => node.waitForConnection().then(ignore, ignore),
    async close() {
      subscriptions.close();
      node.close();
    },
  };
}

export async function openCluster(
  urls: readonly string[],
  settings: TopologySettings,
): Promise<RedisTopology> {
  const cluster = new ClusterTopology(urls, settings);
  // The fetch of the slot map does not keep the process alive, but the caller waits for it here.
  const keepAlive = setInterval(() => undefined, 1_000);
  try {
    await cluster.refresh();
    settings.outages.answered();
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  } finally {
    clearInterval(keepAlive);
  }
}
