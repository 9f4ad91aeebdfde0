/**
 * A Redis Cluster of three primaries, put together by us. Shows what a cluster asks of clients: keys of one command
 * on one node, redirections, sharded pub/sub. It fails over by itself, but only if asked for replicas.
 */
import { ServiceError } from "./service-error.ts";
import { freePort, HOST } from "../network/free-port.ts";
import { until } from "../util/until.ts";
import { type RedisOptions, type RedisServer, startRedis } from "./start-redis.ts";

export interface RedisClusterOptions extends Omit<RedisOptions, "port"> {
  /** One for each primary. Default: none. */
  replicas?: boolean;
}

export interface RedisCluster {
  /** The primaries, as it was put together. */
  readonly nodes: readonly RedisServer[];
  /** In the order of their primaries; empty unless asked for. */
  readonly replicas: readonly RedisServer[];
  /** As clients of a cluster want them. */
  readonly rootNodes: readonly { url: string }[];
  /** After a restart of a node, which takes no commands for two seconds: answers once every running node says that all is well. */
  waitUntilWhole(): Promise<void>;
  /** Answers once the others have noticed that a node is gone. */
  waitUntilBroken(): Promise<void>;
  /** Answers once every replica of a running primary has all that it was told so far. */
  waitForReplicas(): Promise<void>;
  /** Kills a primary, and answers with its replica once every node that is left takes it for the primary. */
  failover(index: number): Promise<RedisServer>;
  stop(): Promise<void>;
}

const NODES = 3;
/** After which silence a node counts as failed: a machine that stands still for a while must not fail one. */
const PATIENT_MS = 30_000;
/** From a failure that is to be noticed soon until all is well again: a failed node is taken back only after twice that. */
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
    // The default, 10,000 above the port, may be taken.
    "cluster-port": String(busPort),
    // The default waits five seconds for more replicas before the first one is served.
    "repl-diskless-sync-delay": "0",
    // The default waits ten seconds for a replica that may be gone.
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
  // Else all of them claim epoch 0, and sort it out one conflict after the other.
  await node.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
}

/** Answers once it could take over, and would still know everything after kill -9. */
async function follow(replica: RedisServer, primary: RedisServer): Promise<void> {
  const id = String(await primary.command("CLUSTER", "MYID"));
  await until("the replica to hear of its primary", async () =>
    String(await replica.command("CLUSTER", "NODES")).includes(id),
  );
  await replica.command("CLUSTER", "REPLICATE", id);
  await until("the replica to follow its primary", async () => {
    const info = String(await replica.command("INFO"));
    return info.includes("master_link_status:up") && info.includes("aof_rewrite_in_progress:0");
  });
  // The primary may hold back what is written until the replica reports again, a second later. It is still empty.
  await primary.command("FLUSHALL");
  await catchUp(replica, primary);
}

async function catchUp(replica: RedisServer, primary: RedisServer): Promise<void> {
  const written = offsetIn(await primary.command("INFO", "replication"), "master_repl_offset");
  await until("the replica to get what is written", async () => {
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
      for (const node of running()) await until("the others to notice", async () => await isBroken(node));
    },
    async waitForReplicas() {
      const alive = pairs.filter(({ primary, replica }) => primary.isRunning && replica.isRunning);
      await Promise.all(alive.map(async ({ primary, replica }) => await catchUp(replica, primary)));
    },
    async failover(index) {
      const pair = pairs[index];
      if (!pair)
        throw new ServiceError("not_running", "there is no replica: start the cluster with replicas");
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
