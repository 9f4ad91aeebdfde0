/**
 * `RedisTopology` is the interface between `RedisEngine` and its Redis servers, and `TopologySettings` are their
 * settings. Types only; `open-topology.ts` and `cluster.ts` implement them.
 *
 * Invariant: `nodeFor` returns a node immediately, connected or not. The engine calls it again after `refresh`, because
 * the key may be on another server.
 */
import type { Listener } from "./subscriptions.ts";
import type { RedisConnection } from "../connection/connection.ts";
import type { NodeOptions, RedisNode } from "../connection/node.ts";

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
