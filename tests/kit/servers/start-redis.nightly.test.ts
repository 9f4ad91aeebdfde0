/** Tests one Redis server under everything that a chaos run does to it. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { afterEach, expect, test } from "vitest";

import { isAlive } from "../processes/process-tree.ts";
import { type RedisOptions, type RedisServer, startRedis } from "./start-redis.ts";
import { RedisReplyError } from "./redis-command.ts";

const started: RedisServer[] = [];

async function start(options?: RedisOptions): Promise<RedisServer> {
  const redis = await startRedis(options);
  started.push(redis);
  return redis;
}

afterEach(async () => {
  await Promise.all(started.splice(0).map(async (redis) => await redis.stop()));
});

test("supports every type of reply", async () => {
  const redis = await start();
  expect(await redis.command("PING")).toBe("PONG");
  expect(await redis.command("SET", "key", "grüße")).toBe("OK");
  expect(await redis.command("GET", "key")).toBe("grüße");
  expect(await redis.command("GET", "none")).toBeNull();
  expect(await redis.command("INCRBY", "count", 7)).toBe(7);
  await redis.command("XADD", "log", "1-1", "a", "b");
  expect(await redis.command("XRANGE", "log", "-", "+")).toEqual([["1-1", ["a", "b"]]]);
  await expect(redis.command("LPUSH", "key", "x")).rejects.toThrow(RedisReplyError);
  const large = "x".repeat(300_000);
  await redis.command("SET", "large", large);
  expect(await redis.command("GET", "large")).toBe(large);
});

test("written data survive kill -9, on the same port", async () => {
  const redis = await start();
  const { pid, url } = redis;
  await redis.command("SET", "stored", "yes");
  await redis.kill();
  expect(isAlive(pid)).toBe(false);
  expect(redis.isRunning).toBe(false);
  await expect(redis.command("PING")).rejects.toThrow("ECONNREFUSED");
  expect(() => redis.pid).toThrow(expect.objectContaining({ code: "not_running" }));
  await redis.restart();
  expect(redis.url).toBe(url);
  expect(redis.pid).not.toBe(pid);
  expect(await redis.command("GET", "stored")).toBe("yes");
});

test("a normal restart retains everything, and kill -9 without the file loses everything", async () => {
  const [durable, lost] = await Promise.all([start(), start({ appendOnly: false })]);
  await durable.command("SET", "key", "1");
  await lost.command("SET", "key", "1");
  await Promise.all([durable.restart(), lost.kill().then(async () => await lost.restart())]);
  expect(await durable.command("GET", "key")).toBe("1");
  expect(await lost.command("GET", "key")).toBeNull();
});

test("a frozen server answers only after it is thawed", async () => {
  const redis = await start();
  redis.freeze();
  let answered = false;
  const answer = redis.command("PING").finally(() => (answered = true));
  await sleep(200);
  expect(answered).toBe(false);
  redis.thaw();
  expect(await answer).toBe("PONG");
});

test("a frozen server can be killed and stopped", async () => {
  const redis = await start();
  redis.freeze();
  await redis.kill();
  await redis.restart();
  redis.freeze();
  await redis.stop();
  await expect(redis.restart()).rejects.toThrow("start a new one");
});

test("settings of the caller override the defaults", async () => {
  const redis = await start({ config: { maxmemory: "64mb", appendfsync: "always" } });
  expect(await redis.command("CONFIG", "GET", "maxmemory")).toEqual(["maxmemory", String(64 * 2 ** 20)]);
  expect(await redis.command("CONFIG", "GET", "appendfsync")).toEqual(["appendfsync", "always"]);
  const limits = String(await redis.command("CONFIG", "GET", "client-output-buffer-limit"));
  expect(limits).toContain(`pubsub ${64 * 2 ** 20} ${16 * 2 ** 20} 30`);
  expect(readFileSync(`${redis.folder}/server.log`, "utf8")).toContain("Ready to accept connections");
});

test("an unknown setting fails with Redis's error message", async () => {
  await expect(start({ config: { nonsense: "1" } })).rejects.toThrow(
    expect.objectContaining({ code: "start_failed", message: expect.stringContaining("nonsense") }),
  );
});
