/** Tests the health checks of a Redis server: what they cost for many processes, and what they report. */
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { LogError } from "../../../src/log/errors.ts";
import type { Log } from "../../../src/log/log.ts";
import { createRedisLog, type RedisLogOptions } from "../../../src/log/redis/create-redis-log.ts";
import { Reader, sessionRef, sessionStart, titles } from "../drafts.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let redis: RedisServer;
const open: Log[] = [];
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
afterEach(async () => {
  await redis.command("CONFIG", "SET", "maxmemory", "0");
  await redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await Promise.all(open.splice(0).map((log) => log.close()));
});

async function connect(options: Partial<RedisLogOptions> = {}): Promise<Log> {
  const log = await createRedisLog({ url: redis.url, responseTimeoutMs: 30_000, ...options });
  open.push(log);
  return log;
}

/** Commands that clients sent, without those inside scripts and those of this test. */
async function countCommands(): Promise<number> {
  const stats = String(await redis.command("INFO", "commandstats"));
  return ["eval", "info", "client|info", "ping", "set"]
    .map((name) =>
      Number(new RegExp(`cmdstat_${name.replace("|", "\\|")}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
    )
    .reduce((sum, count) => sum + count, 0);
}

test("thirty processes cost a server about as many commands as one", async () => {
  const measure = async (): Promise<number> => {
    const before = await countCommands();
    await pause(4_000);
    // Without those of the two measurements. A script that checks runs INFO and SET inside.
    return (await countCommands()) - before - 1;
  };
  await connect();
  await pause(500);
  const one = await measure();
  expect(one).toBeGreaterThan(3);
  for (let n = 0; n < 29; n++) await connect();
  // A process checks once when it connects, and its subscriptions after they changed.
  await pause(3_000);
  const thirty = await measure();
  // Each check is one script with two commands inside. Without sharing there would be thirty times as many. On a busy
  // machine, some processes check before they know the result of another one.
  expect(thirty).toBeLessThan(one * 10);
});

test("a process learns from the check of another one that the data was wiped", async () => {
  const session = sessionRef();
  // This process checks once, when it connects.
  const log = await connect({ healthCheckMs: 3_600_000 });
  await log.claim(session, { epoch: 1, writer: "w", event: sessionStart(session), archivedUpTo: "0-0" });
  const reader = new Reader(log, session, { after: "0-0" });
  await reader.until(({ entries }) => entries.length === 1);
  await connect({ healthCheckMs: 100 });
  await pause(500);
  await redis.command("FLUSHALL");
  await reader.until(({ end }) => end !== null, 30_000);
  expect(reader.end).toBe("missing");
});

test("a server that refuses writes is reported once, and the log is impaired until it accepts them", async () => {
  const session = sessionRef();
  const log = await connect({ healthCheckMs: 100 });
  const reports: LogError[] = [];
  log.onOutage?.((error) => reports.push(error));
  await log.claim(session, { epoch: 1, writer: "w", event: sessionStart(session), archivedUpTo: "0-0" });
  expect(log.isImpaired).toBe(false);
  await redis.command("CONFIG", "SET", "maxmemory", "1");
  await until("the log to be impaired", () => log.isImpaired === true, { timeoutMs: 30_000 });
  await until("a report", () => reports.length > 0, { timeoutMs: 30_000 });
  expect(reports[0]?.message).toContain("refuses writes (OOM)");
  // What frees memory works without memory: otherwise it would stay full.
  expect(await log.expire(session, "1-1", 60_000)).toBe(true);
  // A claim is refused like an append, and changes nothing.
  const claim = { epoch: 2, writer: "w2", event: sessionStart(session), archivedUpTo: "1-1" };
  await expect(log.claim(session, claim)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await log.head(session)).toMatchObject({ epoch: 1, last: "1-1" });
  await pause(1_000);
  expect(reports).toHaveLength(1);
  await redis.command("CONFIG", "SET", "maxmemory", "0");
  await until("the log to recover", () => log.isImpaired === false, { timeoutMs: 30_000 });
  await log.append(session, { writer: "w", epoch: 1, counter: 1, events: titles("a") });
});

test("refuses to start on a server that evicts, and names the setting", async () => {
  await redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  const refused = await createRedisLog({ url: redis.url }).then(
    () => null,
    (error: unknown) => error as LogError,
  );
  expect(refused).toMatchObject({ code: "EVICTS" });
  expect(refused?.message).toContain("`maxmemory-policy` allkeys-lru");
  expect(refused?.message).toContain("Set `maxmemory-policy noeviction`");
});
