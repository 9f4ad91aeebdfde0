/** What the log asks of the servers that keep it, and the settings they need. */
import type { Listener } from "./subscriptions.ts";
import type { NodeOptions, RedisNode } from "../connection/node.ts";

export interface RedisTopology {
  nodeFor(key: string): RedisNode;
  subscribe(channel: string, listener: Listener): Promise<() => void>;
  /** A server sent us away: look again who keeps what. */
  refresh(): Promise<void>;
  /** The server at `host:port`, for a slot that is on its way there. */
  nodeAt(address: string): RedisNode;
  close(): Promise<void>;
}

export type TopologySettings = Omit<NodeOptions, "url"> & { readonly prefix: string };
