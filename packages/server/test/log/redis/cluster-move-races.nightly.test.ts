/**
 * Moves slots of a Redis Cluster during outages and races: readers of the slot continue, and other sessions are not
 * affected.
 */
import { createClient } from "@redis/client";
import { type RedisCluster, startRedisCluster } from "@turnstream/testkit/servers/start-redis-cluster.ts";
import type { RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import { afterEach, afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Log } from "../../../src/log/log.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { RedisConnection } from "../../../src/log/redis/connection/connection.ts";
import { slotOf } from "../../../src/log/redis/topology/slot-map.ts";
import { type SessionRef, sessionKey } from "../../../src/util/refs.ts";
import { carrySlot, idOf, ownerOf, sessionOn, slotOfSession, setOwner } from "./cluster-slots.ts";
import { Reader, sessionStart, takeover, titles } from "../drafts.ts";

const ALL = ["session.start", "turn.takeover", "live"];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let cluster: RedisCluster;
/** The log of the readers. */
let log: Log;
/** The log of the writers. Its longer timeouts cover every move. */
let direct: Log;
let first: RedisServer;
let second: RedisServer;
let third: RedisServer;

beforeAll(async () => {
  cluster = await startRedisCluster({ config: { "cluster-require-full-coverage": "no" } });
  [first, second, third] = cluster.nodes as [RedisServer, RedisServer, RedisServer];
});
afterAll(() => cluster.stop());
beforeEach(async () => {
  const url = cluster.nodes.map((node) => node.url);
  log = await createRedisLog({ url, healthCheckMs: 100, responseTimeoutMs: 1_000, connectionWaitMs: 1_500 });
  direct = await createRedisLog({ url, responseTimeoutMs: 30_000, connectionWaitMs: 30_000 });
});
afterEach(async () => {
  await Promise.all([log.close(), direct.close()]);
});

async function begin(session: SessionRef): Promise<Reader> {
  await direct.claim(session, { epoch: 1, writer: "w1", event: sessionStart(session), archivedUpTo: "0-0" });
  const reader = new Reader(log, session, { after: "0-0" });
  await reader.until(({ entries }) => entries.length === 1);
  await pause(50);
  return reader;
}

/** Writes further entries and returns everything that the reader received. */
async function goOn(session: SessionRef, reader: Reader): Promise<string[]> {
  await direct.claim(session, { epoch: 2, writer: "w2", event: takeover(), archivedUpTo: "0-0" });
  await reader.until(({ entries }) => entries.length === 2, 30_000);
  await direct.append(session, { writer: "w2", epoch: 2, counter: 1, events: titles("live") });
  await reader.until(({ entries }) => entries.length === 3, 30_000);
  await reader.stop();
  return reader.texts;
}

async function connectionsTo(node: RedisServer): Promise<number> {
  const stats = String(await node.command("INFO", "stats"));
  return Number(/total_connections_received:(\d+)/.exec(stats)?.[1]);
}

test("a slot moves while the subscription connection is down: readers of all sessions of the server continue", async () => {
  const moved = await sessionOn(second, "moved");
  const slot = slotOfSession(moved);
  const staying = await sessionOn(second, "staying");
  const readers = [await begin(moved), await begin(staying)];
  const admin = createClient({ url: second.url, RESP: 2 });
  await admin.connect();
  await carrySlot(slot, second, third);
  const id = await idOf(third);
  await admin.sendCommand(["CONFIG", "SET", "maxclients", "1"]);
  await admin.sendCommand(["CLIENT", "KILL", "TYPE", "pubsub"]);
  await pause(200);
  await admin.sendCommand(["CLUSTER", "SETSLOT", String(slot), "NODE", id]);
  await setOwner(slot, third, third, first);
  await admin.sendCommand(["CONFIG", "SET", "maxclients", "10000"]);
  admin.destroy();
  for (const [n, session] of [moved, staying].entries()) {
    expect(await goOn(session, readers[n] as Reader)).toEqual(ALL);
  }
  // A reconnect loop would show in every sample. A single reconnect after the wait is fine, so poll.
  const more = async () => {
    const before = await connectionsTo(second);
    await pause(500);
    return (await connectionsTo(second)) - before;
  };
  await expect.poll(more).toBeLessThan(3);
});

test("a slot moves while some servers don't know the new owner: the log retries until it finds the owner", async () => {
  const session = await sessionOn(second, "stale");
  const slot = slotOfSession(session);
  const reader = await begin(session);
  await carrySlot(slot, second, third);
  // Not the usual order: for a while, the two owners redirect to each other.
  await setOwner(slot, third, second);
  await pause(400);
  await setOwner(slot, third, third);
  await pause(200);
  await setOwner(slot, third, first);
  expect(await goOn(session, reader)).toEqual(ALL);
});

test("a slot moves to a server with a lower epoch and back: readers continue", async () => {
  const session = await sessionOn(third, "back");
  const slot = slotOfSession(session);
  const reader = await begin(session);
  await carrySlot(slot, third, first);
  await setOwner(slot, first, first, third);
  await pause(150);
  await carrySlot(slot, first, third);
  await setOwner(slot, third, third, first);
  expect(await goOn(session, reader)).toEqual(ALL);
});

test("a slot moves and returns during a pending response: the health check detects the lost subscription", async () => {
  const session = await sessionOn(second, "hidden");
  const [slot, tag] = [String(slotOfSession(session)), sessionKey(session)];
  const connection = await RedisConnection.open({ url: second.url, responseTimeoutMs: 30_000 });
  const moved: string[] = [];
  connection.listen({ onMessage: () => undefined, onMoved: (channel) => moved.push(channel) });
  let hasEnded = false;
  void connection.ended.then(() => (hasEnded = true));
  await Promise.all([`ts:{${tag}}`, `other:{${tag}}`].map((channel) => connection.subscribe(channel)));
  await connection.checkSubscriptions();
  await connection.unsubscribe(`other:{${tag}}`);
  await connection.checkSubscriptions();
  expect(hasEnded).toBe(false);
  await connection.send(["CLUSTER", "SETSLOT", slot, "NODE", await idOf(third)]);
  await connection.send(["CLUSTER", "SETSLOT", slot, "NODE", await idOf(second)]);
  await connection.checkSubscriptions();
  await expect.poll(() => hasEnded || moved.length > 0).toBe(true);
  connection.destroy();
});

test("the slot of the health check key moves: a later wipe is still detected", async () => {
  let n = 0;
  while ((await ownerOf(cluster, slotOf(`ts:pulse:{${n}}`)))[0] !== first) n++;
  const slot = slotOf(`ts:pulse:{${n}}`);
  const reader = await begin(await sessionOn(first, "wiped"));
  await carrySlot(slot, first, second);
  await setOwner(slot, second, second, first, third);
  await expect.poll(() => first.command("KEYS", "ts:pulse:*"), { timeout: 30_000 }).toHaveLength(1);
  await pause(300);
  expect(reader.end).toBeNull();
  await first.command("FLUSHALL");
  await reader.until(({ end }) => end === "missing", 30_000);
});

test("a slot moves to a server that dies: other sessions continue, and its readers continue after the restart", async () => {
  const [lost, other] = [await sessionOn(second, "lost"), await sessionOn(second, "served")];
  const [slot, otherSlot] = [slotOfSession(lost), slotOfSession(other)];
  const reader = await begin(lost);
  const otherReader = await begin(other);
  await carrySlot(slot, second, third);
  await third.kill();
  await setOwner(slot, third, first, second);
  const early = new Reader(log, lost, { after: "1-1" });
  await carrySlot(otherSlot, second, first);
  await setOwner(otherSlot, first, first, second);
  expect(await direct.head(other)).toMatchObject({ last: "1-1" });
  expect(await goOn(other, otherReader)).toEqual(ALL);
  await early.stop();
  await third.restart();
  await setOwner(slot, third, third);
  await cluster.waitUntilWhole();
  expect(await goOn(lost, reader)).toEqual(ALL);
});
