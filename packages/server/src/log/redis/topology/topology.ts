/** What the log asks of the servers that keep it, and the settings they need. */
import type { Listener } from "./subscriptions.ts";
import type { RedisConnection } from "../connection/connection.ts";
import type { NodeOptions, RedisNode } from "../connection/node.ts";

export interface RedisTopology {
  nodeFor(key: string): RedisNode;
  subscribe(channel: string, listener: Listener): Promise<() => void>;
  /** Fetches the slot map again. @param redirectedBy the connection over which a server replied MOVED */
  refresh(redirectedBy?: RedisConnection | null): Promise<void>;
  /** The server at `host:port`, for a slot that is on its way there. */
  nodeAt(address: string): RedisNode;
  close(): Promise<void>;
}

export type TopologySettings = Omit<NodeOptions, "url"> & { readonly keyPrefix: string };
