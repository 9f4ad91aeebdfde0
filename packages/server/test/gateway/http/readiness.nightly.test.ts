/** Tests that `/readyz` reports a Redis that refuses writes, on a real Redis, and recovers with it. */
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { afterEach, expect, test } from "vitest";
import { createServer } from "../../../src/gateway/create-server.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).toReversed()) await cleanUp();
});

async function openGateway(store = createMemoryStore()) {
  const redis = await startRedis();
  cleanups.push(() => redis.stop());
  const log = await createRedisLog({ url: redis.url });
  cleanups.push(() => log.close());
  const server = createServer({
    store,
    log,
    signals: createMemorySignals(),
    secrets: ["a secret that only this test of the readiness knows"],
    onError: () => undefined,
  });
  cleanups.push(() => server.close());
  const url = await server.listen(0);
  const status = async () => {
    const response = await fetch(`${url}/readyz`);
    return [response.status, ((await response.json()) as { status: string }).status];
  };
  return { redis, status };
}

test("a Redis without memory makes the gateway unready, until it accepts writes", async () => {
  const { redis, status } = await openGateway();
  await expect.poll(status).toEqual([200, "ready"]);
  await redis.command("CONFIG", "SET", "maxmemory", "1");
  await expect.poll(status).toEqual([503, "unavailable"]);
  await redis.command("CONFIG", "SET", "maxmemory", "0");
  await expect.poll(status).toEqual([200, "ready"]);
});

test("a PostgreSQL whose disk is full makes the gateway unready", async () => {
  let isFull = false;
  const { status } = await openGateway({ ...createMemoryStore(), isRefusingWrites: () => isFull });
  await expect.poll(status).toEqual([200, "ready"]);
  isFull = true;
  await expect.poll(status).toEqual([503, "unavailable"]);
});
