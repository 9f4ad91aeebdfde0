/** `RedisTopology` is the interface between the log and its Redis servers, with their settings. */
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
  close(): Promise<void>;
}

export type TopologySettings = Omit<NodeOptions, "url"> & { readonly keyPrefix: string };
