/** What goes wrong between a process and its Redis: each is noticed, told with a code, and gone on from. */
import { createClient } from "@redis/client";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isLogError } from "../../../src/log/errors.ts";
import type { Log } from "../../../src/log/log.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { Reader, readAll, describeEntry, sessionStart, takeover, titles } from "../drafts.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const SESSION = "s";
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

describe("a connection", () => {
  // No pulse, and no one else on the line, whose answer could be the one that is cut.
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

  test("that breaks between an append and its answer: the repeat finds it", async () => {
    await calm.head(SESSION);
    for (let counter = 1; counter <= 20; counter++) {
      const batch = { ...own, counter, events: titles(`${counter}`) };
      line.cutAfter(0, "toClient");
      expect(await codeOf(calm.append(SESSION, batch))).toBe("UNAVAILABLE");
      expect(await calm.append(SESSION, { ...batch, isRetry: true })).toMatchObject({
        last: counter + 1,
        repeated: true,
      });
    }
    expect((await readAll(log, SESSION)).map(describeEntry)).toEqual([
      "session.start",
      ...Array.from({ length: 20 }, (_, n) => `${n + 1}`),
    ]);
  });

  test("that breaks before the append arrives: the repeat makes it", async () => {
    const batch = { ...own, counter: 1, events: titles("a") };
    await calm.head(SESSION);
    line.cutAfter(10, "toServer");
    expect(await codeOf(calm.append(SESSION, batch))).toBe("UNAVAILABLE");
    expect(await calm.append(SESSION, { ...batch, isRetry: true })).toMatchObject({
      last: 2,
      repeated: false,
    });
  });

  test("that says nothing any more is noticed and replaced", async () => {
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
    await direct.append(SESSION, { writer: "g", counter: 1, events: titles("unheard") });
    await pause(1_200);
    await proxy.heal();
    await reader.until(({ entries }) => entries.length === 2, 30_000);
    await direct.append(SESSION, { writer: "g", counter: 2, events: titles("heard") });
    await reader.until(({ entries }) => entries.length === 3, 30_000);
    expect(reader.texts).toEqual(["session.start", "unheard", "heard"]);
    await reader.stop();
    await Promise.all([hasty.close(), direct.close()]);
  });

  test("that can't be made is told after a bounded wait; readers are told too", async () => {
    const impatient = await createRedisLog({
      url: `redis://127.0.0.1:${proxy.port}`,
      connectionWaitMs: 300,
      timeoutMs: 600,
    });
    let reader: Reader;
    // So impatient that a machine which stands still makes it give up before anything is cut.
    do {
      reader = new Reader(impatient, SESSION, { after: "0-0" });
      await reader.until(({ entries, end }) => entries.length === 1 || end !== null);
    } while (reader.end !== null);
    // Live by then: one who is reading would be told as well.
    await pause(200);
    proxy.cut();
    const started = performance.now();
    expect(await codeOf(impatient.append(SESSION, { ...own, counter: 1, events: titles("a") }))).toBe(
      "UNAVAILABLE",
    );
    // Without its own bound it would wait for as long as there is no server.
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

describe("Redis", () => {
  test("restarted: entries are there, appends are refused until a claim, readers go on", async () => {
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

  test("wiped: readers are told within a second, and nobody writes before a claim", async () => {
    await log.append(SESSION, { ...own, counter: 1, events: titles("a") });
    const reader = new Reader(log, SESSION, { after: "0-0" });
    await reader.until(({ entries }) => entries.length === 2);
    // The pulse has to have been there once, for its loss to be noticed.
    await pause(300);
    await redis.command("FLUSHALL");
    await reader.until(({ end }) => end === "missing", 30_000);
    expect(await codeOf(log.append(SESSION, { ...own, counter: 2, events: titles("b") }))).toBe("UNCLAIMED");
    await log.claim(SESSION, { epoch: 2, writer: "w2", event: takeover(), archivedUpTo: "1-1" });
    expect(await log.head(SESSION)).toEqual({ epoch: 2, last: "2-2", base: "1-1" });
  });

  test("whose scripts were flushed gets them again", async () => {
    await redis.command("SCRIPT", "FLUSH");
    expect(await log.append(SESSION, { ...own, counter: 1, events: titles("a") })).toMatchObject({ last: 2 });
    await redis.command("SCRIPT", "FLUSH");
    expect(await log.head(SESSION)).toMatchObject({ last: "1-2" });
  });

  test("out of memory or turned into a replica refuses with words, and nothing is half written", async () => {
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
    // It was another server for a while, so that entries may be missing.
    await expect
      .poll(() => codeOf(log.append(SESSION, { ...own, counter: 1, events: titles("a"), isRetry: true })), {
        timeout: 30_000,
      })
      .toBe("UNCLAIMED");
    expect((await readAll(log, SESSION)).map(describeEntry)).toEqual(["session.start"]);
  });

  test("that drops a slow subscriber: it reads again and misses nothing", async () => {
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

test("a session has one subscription per process, however many readers it has, and none when they are gone", async () => {
  const admin = createClient({ url: redis.url, RESP: 2 });
  await admin.connect();
  const subscribers = async () =>
    Number((await admin.sendCommand<unknown[]>(["PUBSUB", "SHARDNUMSUB", `ts:{${SESSION}}`]))[1]);
  const readers = Array.from({ length: 50 }, () => new Reader(log, SESSION, { after: "0-0" }));
  for (const reader of readers) await reader.until(({ entries }) => entries.length === 1);
  expect(await subscribers()).toBe(1);
  await log.append(SESSION, { ...own, counter: 1, events: titles("a") });
  for (const reader of readers) await reader.until(({ entries }) => entries.length === 2);
  // Parsed once for all of them.
  expect(new Set(readers.map(({ entries }) => entries[1]?.event)).size).toBe(1);
  await Promise.all(readers.map((reader) => reader.stop()));
  await expect.poll(subscribers, { timeout: 30_000 }).toBe(0);
  admin.destroy();
});
