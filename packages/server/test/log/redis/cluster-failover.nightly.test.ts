/**
 * Kills a primary of a Redis Cluster while a writer and a reader use it, and checks that both continue on the replica.
 */
import { type RedisCluster, startRedisCluster } from "@turnstream/testkit/servers/start-redis-cluster.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isLogError } from "../../../src/log/errors.ts";
import type { Log } from "../../../src/log/log.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { sessionOn } from "./cluster-slots.ts";
import { Reader, readAll, describeEntry, sessionStart, takeover, titles } from "../drafts.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let cluster: RedisCluster;
let log: Log;
/** The time from each promotion until the reader received a live entry. */
const tookMs: number[] = [];
beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: true });
  log = await createRedisLog({
    url: cluster.nodes.map(({ url }) => url),
    healthCheckMs: 100,
    responseTimeoutMs: 1_000,
  });
});
afterAll(async () => {
  await log.close();
  await cluster.stop();
});

/** Claims like a worker: with a new epoch for every try, because the previous claim may have succeeded. */
async function claimAgain(session: SessionRef): Promise<number> {
  for (let epoch = 2; ; epoch++) {
    try {
      await log.claim(session, { epoch, writer: `w${epoch}`, event: takeover(), archivedUpTo: "0-0" });
      return epoch;
    } catch (error) {
      if (!isLogError(error, "UNAVAILABLE", "OUTBID")) throw error;
      await pause(20);
    }
  }
}

test("readers and writers continue on the replica after the primary is killed", async () => {
  const [dying, other] = cluster.nodes;
  if (!dying || !other) throw new Error("a cluster has three nodes");
  const session = await sessionOn(dying, "failing");
  const elsewhere = await sessionOn(other, "elsewhere");
  for (const name of [session, elsewhere]) {
    await log.claim(name, { epoch: 1, writer: "w1", event: sessionStart(name), archivedUpTo: "0-0" });
  }
  const readers = [session, elsewhere].map((name) => new Reader(log, name, { after: "0-0" }));
  for (const reader of readers) await reader.until(({ entries }) => entries.length === 1);
  await cluster.waitForReplicas();

  const promoted = cluster.failover(0);
  const claimed = claimAgain(session);
  const replica = await promoted;
  const promotedAt = performance.now();
  const epoch = await claimed;
  await log.append(session, { writer: `w${epoch}`, epoch, counter: 1, events: titles("after") });
  await readers[0]?.until(({ texts }) => texts.at(-1) === "after", 30_000);
  tookMs.push(performance.now() - promotedAt);
  expect(readers[0]?.texts).toEqual((await readAll(log, session)).map(describeEntry));
  await log.append(session, { writer: `w${epoch}`, epoch, counter: 2, events: titles("live") });
  await readers[0]?.until(({ texts }) => texts.at(-1) === "live", 30_000);

  await log.append(elsewhere, { writer: "w1", epoch: 1, counter: 1, events: titles("undisturbed") });
  await readers[1]?.until(({ entries }) => entries.length === 2);

  // By now the replica has a health check key of its own, so its loss is detected.
  await replica.command("FLUSHALL");
  await readers[0]?.until(({ end }) => end === "missing", 30_000);
  for (const reader of readers) await reader.stop();
});

test("a reader that attaches during a failover receives entries as soon as the replica is promoted", async () => {
  const [, dying] = cluster.nodes;
  if (!dying) throw new Error("a cluster has three nodes");
  const session = await sessionOn(dying, "late");
  await log.claim(session, { epoch: 1, writer: "w1", event: sessionStart(session), archivedUpTo: "0-0" });
  await cluster.waitForReplicas();
  const promoted = cluster.failover(1);
  await pause(300);
  const reader = new Reader(log, session, { after: "0-0" });
  await promoted;
  const promotedAt = performance.now();
  await reader.until(({ entries }) => entries.length === 1, 30_000);
  const epoch = await claimAgain(session);
  await log.append(session, { writer: `w${epoch}`, epoch, counter: 1, events: titles("live") });
  await reader.until(({ texts }) => texts.at(-1) === "live", 30_000);
  tookMs.push(performance.now() - promotedAt);
  expect(reader.texts).toEqual((await readAll(log, session)).map(describeEntry));
  await reader.stop();
});

test("a failover delays readers by less than three seconds in at least one of two runs", () => {
  expect(tookMs).toHaveLength(2);
  expect(Math.min(...tookMs)).toBeLessThan(3_000);
});
