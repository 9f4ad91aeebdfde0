/**
 * A Redis Cluster of three primaries without replicas, put together by us. Shows what a cluster asks of
 * clients: keys of one command on one node, redirections, sharded pub/sub. Never fails over: there is no replica.
 */
import { freePort, HOST } from "./free-port.ts";
import { until } from "./poll.ts";
import { type RedisOptions, type RedisServer, startRedis } from "./redis.ts";

export interface RedisClusterOptions extends Omit<RedisOptions, "port"> {
  /** After which silence a node counts as failed. Default: 2000. */
  nodeTimeoutMs?: number;
}

export interface RedisCluster {
  readonly nodes: readonly RedisServer[];
  /** As clients of a cluster want them. */
  readonly rootNodes: readonly { url: string }[];
  /** After a restart of a node, which takes no commands for two seconds: answers once every node says that all is well. */
  waitUntilWhole(): Promise<void>;
  stop(): Promise<void>;
}

const NODES = 3;
const SLOTS = 16_384;

async function startNode(options: RedisClusterOptions): Promise<{ node: RedisServer; busPort: number }> {
  const busPort = await freePort();
  const config = {
    "cluster-enabled": "yes",
    "cluster-config-file": "nodes.conf",
    "cluster-announce-ip": HOST,
    "cluster-node-timeout": String(options.nodeTimeoutMs ?? 2000),
    // The default, 10,000 above the port, may be taken.
    "cluster-port": String(busPort),
    ...options.config,
  };
  return { node: await startRedis({ ...options, config }), busPort };
}

async function hasAllNodes(node: RedisServer): Promise<boolean> {
  const info = String(await node.command("CLUSTER", "INFO"));
  return info.includes("cluster_state:ok") && info.includes(`cluster_size:${NODES}`);
}

export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const started = await Promise.all(Array.from({ length: NODES }, async () => await startNode(options)));
  const nodes = started.map(({ node }) => node);
  const firstSlot = (index: number) => Math.floor((index * SLOTS) / NODES);
  await Promise.all(
    nodes.map(async (node, index) => {
      await node.command("CLUSTER", "ADDSLOTSRANGE", firstSlot(index), firstSlot(index + 1) - 1);
      // Else all of them claim epoch 0, and sort it out one conflict after the other.
      await node.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
    }),
  );
  const [first] = nodes;
  for (const { node, busPort } of started.slice(1)) {
    await first?.command("CLUSTER", "MEET", HOST, node.port, busPort);
  }
  async function waitUntilWhole(): Promise<void> {
    const whole = nodes.map(async (node) => {
      await until(`the cluster to be ok at port ${node.port}`, async () => await hasAllNodes(node));
    });
    await Promise.all(whole);
  }

  await waitUntilWhole();
  return {
    nodes,
    waitUntilWhole,
    rootNodes: nodes.map(({ url }) => ({ url })),
    async stop() {
      await Promise.all(nodes.map(async (node) => await node.stop()));
    },
  };
}
