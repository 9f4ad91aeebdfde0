/**
 * `startRedisCluster` starts a Redis Cluster of three primaries. It shows what a cluster requires of clients: all keys
 * of one command on one node, redirects, and sharded pub/sub. It fails over by itself only with `replicas`.
 */
import { ServiceError } from "./service-error.ts";
import { freePort, HOST } from "../network/free-port.ts";
import { until } from "../util/until.ts";
import { type RedisOptions, type RedisServer, startRedis } from "./start-redis.ts";

export interface RedisClusterOptions extends Omit<RedisOptions, "port" | "folder"> {
  /** Whether to start one replica for each primary. @default false */
  replicas?: boolean;
}

export interface RedisCluster {
  /** The nodes that were primaries at the start. */
  readonly nodes: readonly RedisServer[];
  /** In the order of their primaries; empty without `replicas`. */
  readonly replicas: readonly RedisServer[];
  /** In the form that cluster clients take. */
  readonly rootNodes: readonly { url: string }[];
  /**
   * Resolves when every running node reports that the cluster is ok. Needed after the restart of a node, which takes no
   * commands for two seconds.
   */
  waitUntilWhole(): Promise<void>;
  /** Resolves when the other nodes have noticed that a node is down. */
  waitUntilBroken(): Promise<void>;
  /** Resolves when every replica of a running primary has all writes so far. */
  waitForReplicas(): Promise<void>;
  /** Kills a primary. Resolves with its replica when every remaining node sees the replica as primary. */
  failover(index: number): Promise<RedisServer>;
  stop(): Promise<void>;
}

const NODES = 3;
/**
 * A node counts as failed after this time without an answer. Long, so that a machine that pauses doesn't cause a
 * failover.
 */
const PATIENT_MS = 30_000;
/** Used while a failure should be noticed soon. A failed node is accepted again only after twice this time. */
const IMPATIENT_MS = 1_000;
const SLOTS = 16_384;

async function setNodeTimeout(nodes: readonly RedisServer[], ms: number): Promise<void> {
  await Promise.all(
    nodes.map(async (node) => await node.command("CONFIG", "SET", "cluster-node-timeout", ms)),
  );
}

interface StartedNode {
  node: RedisServer;
  busPort: number;
}

async function startNode(options: RedisClusterOptions): Promise<StartedNode> {
  const busPort = await freePort();
  const config = {
    "cluster-enabled": "yes",
    "cluster-config-file": "nodes.conf",
    "cluster-announce-ip": HOST,
    "cluster-node-timeout": String(PATIENT_MS),
    // By default a replica that could not take over within about 20 s, because the machine was busy, never tries again.
    "cluster-replica-validity-factor": "0",
    // The default, 10,000 above the port, may be in use.
    "cluster-port": String(busPort),
    // By default the primary waits five seconds for more replicas before it serves the first one.
    "repl-diskless-sync-delay": "0",
    // By default the server waits ten seconds for a replica that may be down.
    "shutdown-timeout": "0",
    ...options.config,
  };
  return { node: await startRedis({ ...options, config }), busPort };
}

async function hasAllNodes(node: RedisServer): Promise<boolean> {
  const info = String(await node.command("CLUSTER", "INFO"));
  return info.includes("cluster_state:ok") && info.includes(`cluster_size:${NODES}`);
}

async function isBroken(node: RedisServer): Promise<boolean> {
  return String(await node.command("CLUSTER", "INFO")).includes("cluster_state:fail");
}

async function isPrimaryFor(node: RedisServer, { port }: RedisServer): Promise<boolean> {
  const ranges = (await node.command("CLUSTER", "SLOTS")) as [number, number, [string, number]][];
  return ranges.some(([, , primary]) => primary[1] === port);
}

async function startNodes(options: RedisClusterOptions, count: number): Promise<StartedNode[]> {
  return await Promise.all(Array.from({ length: count }, async () => await startNode(options)));
}

const firstSlot = (index: number) => Math.floor((index * SLOTS) / NODES);

async function giveSlots(node: RedisServer, index: number): Promise<void> {
  await node.command("CLUSTER", "ADDSLOTSRANGE", firstSlot(index), firstSlot(index + 1) - 1);
  // Otherwise all nodes claim epoch 0 and resolve their conflicts one after the other.
  await node.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
}

/** Resolves when the replica could take over, and would still have all data after kill -9. */
async function follow(replica: RedisServer, primary: RedisServer): Promise<void> {
  const id = String(await primary.command("CLUSTER", "MYID"));
  await until("the replica to know its primary", async () =>
    String(await replica.command("CLUSTER", "NODES")).includes(id),
  );
  await replica.command("CLUSTER", "REPLICATE", id);
  await until("the replica to follow its primary", async () => {
    const info = String(await replica.command("INFO"));
    return info.includes("master_link_status:up") && info.includes("aof_rewrite_in_progress:0");
  });
  // The primary may delay writes until the next report of the replica, a second later. FLUSHALL is safe here because
  // the primary is still empty.
  await primary.command("FLUSHALL");
  await catchUp(replica, primary);
}

async function catchUp(replica: RedisServer, primary: RedisServer): Promise<void> {
  const written = offsetIn(await primary.command("INFO", "replication"), "master_repl_offset");
  await until("the replica to receive all writes", async () => {
    return offsetIn(await replica.command("INFO", "replication"), "slave_repl_offset") >= written;
  });
}

function offsetIn(info: unknown, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, "m").exec(String(info))?.[1]);
}

export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const started = await startNodes(options, options.replicas === true ? 2 * NODES : NODES);
  const all = started.map(({ node }) => node);
  const nodes = all.slice(0, NODES);
  const replicas = all.slice(NODES);
  await Promise.all(nodes.map(async (node, index) => await giveSlots(node, index)));
  for (const { node, busPort } of started.slice(1)) {
    await nodes[0]?.command("CLUSTER", "MEET", HOST, node.port, busPort);
  }
  const running = () => all.filter(({ isRunning }) => isRunning);

  async function waitUntilWhole(): Promise<void> {
    const whole = running().map(async (node) => {
      await until(`the cluster to be ok at port ${node.port}`, async () => await hasAllNodes(node));
    });
    await Promise.all(whole);
    await setNodeTimeout(running(), PATIENT_MS);
  }

  await waitUntilWhole();
  const pairs = nodes.flatMap((primary, index) => {
    const replica = replicas[index];
    return replica ? [{ primary, replica }] : [];
  });
  await Promise.all(pairs.map(async ({ primary, replica }) => await follow(replica, primary)));
  return {
    nodes,
    replicas,
    waitUntilWhole,
    async waitUntilBroken() {
      await setNodeTimeout(running(), IMPATIENT_MS);
      for (const node of running())
        await until("the other nodes to notice the failure", async () => await isBroken(node));
    },
    async waitForReplicas() {
      const alive = pairs.filter(({ primary, replica }) => primary.isRunning && replica.isRunning);
      await Promise.all(alive.map(async ({ primary, replica }) => await catchUp(replica, primary)));
    },
    async failover(index) {
      const pair = pairs[index];
      if (!pair)
        throw new ServiceError("not_running", "the cluster has no replicas: start it with `replicas: true`");
      await pair.primary.kill();
      await setNodeTimeout(running(), IMPATIENT_MS);
      for (const node of running()) {
        await until("the replica to take over", async () => await isPrimaryFor(node, pair.replica));
      }
      await waitUntilWhole();
      return pair.replica;
    },
    rootNodes: nodes.map(({ url }) => ({ url })),
    async stop() {
      await Promise.all(all.map(async (node) => await node.stop()));
    },
  };
}
