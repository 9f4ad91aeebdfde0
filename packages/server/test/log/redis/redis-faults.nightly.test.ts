/** Tests faults between a process and its Redis: the log detects each, reports it with a code, and recovers. */
import { createClient } from "@redis/client";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isLogError } from "../../../src/log/errors.ts";
import type { Log } from "../../../src/log/log.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { sessionKey } from "../../../src/util/refs.ts";
import { Reader, readAll, describeEntry, sessionStart, takeover, titles, sessionRef } from "../drafts.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const SESSION = sessionRef("s");
const own = { writer: "w1", epoch: 1 };

let redis: RedisServer;
let proxy: TcpProxy;
let log: Log;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

beforeEach(async () => {
  await redis.command("FLUSHALL");
  proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
  log = await createRedisLog({
    url: `redis://127.0.0.1:${proxy.port}`,
    responseTimeoutMs: 30_000,
    healthCheckMs: 200,
    connectionWaitMs: 30_000,
  });
  await log.claim(SESSION, { ...own, event: sessionStart(SESSION), archivedUpTo: "0-0" });
});
afterEach(async () => {
  await log.close();
  await proxy.close();
});

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (caught: unknown) => caught,
  );
  return isLogError(error) ? error.code : String(error);
}

describe("Redis connection", () => {
  // Few health checks, so that the cut response is mostly that of the append.
  let calm: Log;
  let line: TcpProxy;
  beforeEach(async () => {
    line = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
    calm = await createRedisLog({
      url: `redis://127.0.0.1:${line.port}`,
      healthCheckMs: 3_600_000,
      responseTimeoutMs: 30_000,
    });
  });
  afterEach(async () => {
    await calm.close();
    await line.close();
  });

  test("a retried append finds the first one when the connection breaks before its response", async () => {
    await calm.head(SESSION);
    let broken = 0;
    for (let counter = 1; counter <= 20; counter++) {
      const batch = { ...own, counter, events: titles(`${counter}`) };
      line.cutAfter(0, "toClient");
      // The cut can hit the health check of the new connection instead of the response.
      if ((await codeOf(calm.append(SESSION, batch))) === "UNAVAILABLE") broken++;
      expect(await calm.append(SESSION, { ...batch, isRetry: true })).toMatchObject({
        last: counter + 1,
        repeated: true,
      });
    }
    expect(broken).toBeGreaterThan(5);
    expect((await readAll(log, SESSION)).map(describeEntry)).toEqual([
      "session.start",
      ...Array.from({ length: 20 }, (_, n) => `${n + 1}`),
    ]);
  });

  test("a retried append is executed when the connection breaks before the request arrives", async () => {
    await calm.head(SESSION);
    for (let counter = 1; ; counter++) {
      const batch = { ...own, counter, events: titles("a") };
      line.cutAfter(10, "toServer");
      const code = await codeOf(calm.append(SESSION, batch));
      // The cut hit the connection of the subscriptions instead.
      if (code === "null" && counter < 5) continue;
      expect(code).toBe("UNAVAILABLE");
      expect(await calm.append(SESSION, { ...batch, isRetry: true })).toMatchObject({
        last: counter + 1,
        repeated: false,
      });
      return;
    }
  });

  test("replaces a connection that stops responding", async () => {
    const url = `redis://127.0.0.1:${proxy.port}`;
    const hasty = await createRedisLog({
      url,
      responseTimeoutMs: 500,
      healthCheckMs: 200,
      connectionWaitMs: 1_500,
    });
    const reader = new Reader(hasty, SESSION, { after: "0-0" });
    await reader.until(({ entries }) => entries.length === 1);
    const direct = await createRedisLog({ url: redis.url, responseTimeoutMs: 30_000 });
    proxy.blackhole();
    await direct.append(SESSION, { writer: "g", counter: 1, events: titles("missed") });
    await pause(1_200);
    await proxy.heal();
    await reader.until(({ entries }) => entries.length === 2, 30_000);
    await direct.append(SESSION, { writer: "g", counter: 2, events: titles("delivered") });
    await reader.until(({ entries }) => entries.length === 3, 30_000);
    expect(reader.texts).toEqual(["session.start", "missed", "delivered"]);
    await reader.stop();
    await Promise.all([hasty.close(), direct.close()]);
  });

  test("append and readers fail with UNAVAILABLE after a bounded wait when no connection can be made", async () => {
    const impatient = await createRedisLog({
      url: `redis://127.0.0.1:${proxy.port}`,
      connectionWaitMs: 300,
      timeoutMs: 600,
    });
    let reader: Reader;
    // The timeouts are short enough that a stalled machine ends the reader before the cut. Try again in that case.
    do {
      reader = new Reader(impatient, SESSION, { after: "0-0" });
      await reader.until(({ entries, end }) => entries.length === 1 || end !== null);
    } while (reader.end !== null);
    // Wait until the reader is live. During a read it would end as well.
    await pause(200);
    proxy.cut();
    const started = performance.now();
    expect(await codeOf(impatient.append(SESSION, { ...own, counter: 1, events: titles("a") }))).toBe(
      "UNAVAILABLE",
    );
    // Without its own timeout, the append would wait until a server is there.
    expect(performance.now() - started).toBeLessThan(10_000);
    const late = new Reader(impatient, SESSION, { after: "0-0" });
    await late.until(({ end }) => end === "unavailable", 30_000);
    await proxy.heal();
    await log.append(SESSION, { writer: "g", counter: 1, events: titles("b") });
    await reader.until(({ entries }) => entries.length === 2);
    await Promise.all([reader.stop(), late.stop()]);
    await impatient.close();
  });
});

describe("Redis server", () => {
  test("after a restart, entries are there, appends are refused until a claim, and readers continue", async () => {
    const reader = new Reader(log, SESSION, { after: "0-0" });
    await log.append(SESSION, { ...own, counter: 1, events: titles("a") });
    await reader.until(({ entries }) => entries.length === 2);
    await redis.kill();
    await redis.restart();
    await expect
      .poll(() => codeOf(log.append(SESSION, { ...own, counter: 2, events: titles("b") })), {
        timeout: 30_000,
      })
      .toBe("UNCLAIMED");
    expect(await codeOf(log.append(SESSION, { writer: "g", counter: 1, events: titles("b") }))).toBe(
      "UNCLAIMED",
    );
    await log.claim(SESSION, { epoch: 2, writer: "w2", event: takeover(), archivedUpTo: "0-0" });
    await reader.until(({ entries }) => entries.length === 3);
    expect(reader.cursors).toEqual(["1-1", "1-2", "2-3"]);
    await reader.stop();
  });

  test("after a wipe, readers end as missing, and appends are refused until a claim", async () => {
    await log.append(SESSION, { ...own, counter: 1, events: titles("a") });
    const reader = new Reader(log, SESSION, { after: "0-0" });
    await reader.until(({ entries }) => entries.length === 2);
    // The health check key must exist before the wipe, so that its loss is detected.
    await pause(300);
    await redis.command("FLUSHALL");
    await reader.until(({ end }) => end === "missing", 30_000);
    expect(await codeOf(log.append(SESSION, { ...own, counter: 2, events: titles("b") }))).toBe("UNCLAIMED");
    await log.claim(SESSION, { epoch: 2, writer: "w2", event: takeover(), archivedUpTo: "1-1" });
    expect(await log.head(SESSION)).toEqual({ epoch: 2, last: "2-2", base: "1-1" });
  });

  test("after a script flush, the log loads its scripts again", async () => {
    await redis.command("SCRIPT", "FLUSH");
    expect(await log.append(SESSION, { ...own, counter: 1, events: titles("a") })).toMatchObject({ last: 2 });
    await redis.command("SCRIPT", "FLUSH");
    expect(await log.head(SESSION)).toMatchObject({ last: "1-2" });
  });

  test("out of memory or as a replica, the server refuses an append and writes no part of it", async () => {
    await redis.command("CONFIG", "SET", "maxmemory", "1");
    const full = log.append(SESSION, { ...own, counter: 1, events: titles("a", "b") });
    await expect(full).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("OOM") as string,
    });
    await redis.command("CONFIG", "SET", "maxmemory", "0");
    await redis.command("REPLICAOF", "127.0.0.1", "1");
    expect(
      await codeOf(log.append(SESSION, { ...own, counter: 1, events: titles("a"), isRetry: true })),
    ).toBe("UNAVAILABLE");
    await redis.command("REPLICAOF", "NO", "ONE");
    // The server was a replica for a while, so entries may be missing.
    await expect
      .poll(() => codeOf(log.append(SESSION, { ...own, counter: 1, events: titles("a"), isRetry: true })), {
        timeout: 30_000,
      })
      .toBe("UNCLAIMED");
    expect((await readAll(log, SESSION)).map(describeEntry)).toEqual(["session.start"]);
  });

  test("after the server drops a slow subscriber, the reader reads again and receives every entry", async () => {
    const reader = new Reader(log, SESSION, { after: "0-0" });
    await reader.until(({ entries }) => entries.length === 1);
    for (let round = 0; round < 5; round++) {
      await log.append(SESSION, { ...own, counter: round + 1, events: titles(`${round}`) });
      await expect.poll(() => redis.command("CLIENT", "KILL", "TYPE", "pubsub")).toBeGreaterThan(0);
    }
    await reader.until(({ entries }) => entries.length === 6);
    expect(reader.texts).toEqual(["session.start", "0", "1", "2", "3", "4"]);
    await reader.stop();
  });
});

test("a session has one subscription per process for all its readers, and none after they stop", async () => {
  const admin = createClient({ url: redis.url, RESP: 2 });
  await admin.connect();
  const subscribers = async () =>
    Number((await admin.sendCommand<unknown[]>(["PUBSUB", "SHARDNUMSUB", `ts:{${sessionKey(SESSION)}}`]))[1]);
  const readers = Array.from({ length: 50 }, () => new Reader(log, SESSION, { after: "0-0" }));
  for (const reader of readers) await reader.until(({ entries }) => entries.length === 1);
  expect(await subscribers()).toBe(1);
  await log.append(SESSION, { ...own, counter: 1, events: titles("a") });
  for (const reader of readers) await reader.until(({ entries }) => entries.length === 2);
  // All readers share one parsed event.
  expect(new Set(readers.map(({ entries }) => entries[1]?.event)).size).toBe(1);
  await Promise.all(readers.map((reader) => reader.stop()));
  await expect.poll(subscribers, { timeout: 30_000 }).toBe(0);
  admin.destroy();
});
