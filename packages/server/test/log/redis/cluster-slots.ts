/** Helpers for cluster slots: find the owner of a slot, find a session on a server, and move a slot step by step. */
import type { RedisCluster } from "@turnstream/testkit/servers/start-redis-cluster.ts";
import type { RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import { slotOf } from "../../../src/log/redis/topology/slot-map.ts";
import { type SessionRef, sessionKey } from "../../../src/util/refs.ts";
import { sessionRef } from "../drafts.ts";

export const slotOfSession = (ref: SessionRef): number => slotOf(`ts:{${sessionKey(ref)}}`);

/** Cached, because a server keeps its id and may be dead when a test needs it. */
const ids = new Map<RedisServer, string>();

export async function idOf(node: RedisServer): Promise<string> {
  const id = ids.get(node) ?? String(await node.command("CLUSTER", "MYID"));
  ids.set(node, id);
  return id;
}

async function portOf(asked: RedisServer, slot: number): Promise<number | undefined> {
  const ranges = (await asked.command("CLUSTER", "SLOTS")) as [number, number, [string, number]][];
  return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
}

/** Returns the owner of the slot, according to a running node, and the two other nodes. */
export async function ownerOf(
  { nodes }: RedisCluster,
  slot: number,
): Promise<[RedisServer, RedisServer, RedisServer]> {
  const asked = nodes.find(({ isRunning }) => isRunning);
  const port = asked && (await portOf(asked, slot));
  const owner = nodes.find((node) => node.port === port);
  const [other, third] = nodes.filter((node) => node !== owner);
  if (!owner || !other || !third) throw new Error("the slot has no owner");
  return [owner, other, third];
}

/** Returns a session whose slot belongs to `node`. */
export async function sessionOn(node: RedisServer, like: string): Promise<SessionRef> {
  for (let n = 0; ; n++) {
    const session = sessionRef(`${like}-${n}`);
    // After a failover, the owner of a slot can be a replica.
    if ((await portOf(node, slotOfSession(session))) === node.port) return session;
  }
}

/** Migrates the keys of a slot, but announces no new owner. */
export async function carrySlot(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  await to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", await idOf(from));
  await from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", await idOf(to));
  const keys = (await from.command("CLUSTER", "GETKEYSINSLOT", slot, 100)) as string[];
  if (keys.length > 0) await from.command("MIGRATE", "127.0.0.1", to.port, "", 0, 5_000, "KEYS", ...keys);
}

/** Announces the new owner of the slot to the nodes, in this order. */
export async function setOwner(slot: number, owner: RedisServer, ...nodes: RedisServer[]): Promise<void> {
  const id = await idOf(owner);
  for (const node of nodes) await node.command("CLUSTER", "SETSLOT", slot, "NODE", id);
}
