/**
 * `RedisTopology` is the interface between `RedisEngine` and its Redis servers, and `singleServer` implements it for
 * one server. It neither reads nor writes a log.
 *
 * Invariant: `nodeFor` returns a node immediately, connected or not. The engine calls it again after `refresh`, because
 * the key may be on another server. Every node with slots has a sentinel key; without it, wiped data stays unnoticed.
 */
import type { RedisConnection } from "../connection/connection.ts";
import { type NodeOptions, RedisNode } from "../connection/node.ts";
import { type Listener, SubscriptionManager } from "./subscriptions.ts";

export interface RedisTopology {
  nodeFor(key: string): RedisNode;
  subscribe(channel: string, listener: Listener): Promise<() => void>;
  /**
   * Fetches the slot map again.
   * @param redirectedBy the connection over which a server replied MOVED
   */
  refresh(redirectedBy?: RedisConnection | null): Promise<void>;
  /** Returns the server at `host:port`, for a slot that is migrating to it. */
  nodeAt(address: string): RedisNode;
  /** Waits until all servers are connected, or for `connectionWaitMs`. */
  connected(): Promise<void>;
  close(): Promise<void>;
}

export type TopologySettings = Omit<NodeOptions, "url"> & { readonly keyPrefix: string };

const ignore = (): void => undefined;

export function singleServer(url: string, settings: TopologySettings): RedisTopology {
  const subscriptions = new SubscriptionManager({
    nodeFor: () => node,
    onTopologyDoubt: ignore,
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
