/** Tests replication, a partition of it, and a failover that loses the writes made during the partition. */
import { setTimeout as sleep } from "node:timers/promises";

import { afterAll, beforeAll, expect, test } from "vitest";

import { HOST } from "../network/free-port.ts";
import { until } from "../util/until.ts";
import { type RedisPair, startRedisPair } from "./start-redis-pair.ts";
import { redisCommand } from "./redis-command.ts";

let pair: RedisPair;

beforeAll(async () => {
  pair = await startRedisPair();
});

afterAll(async () => {
  await pair.stop();
});

async function atReplica(key: string, value: string): Promise<void> {
  await until(`${key} at the replica`, async () => (await pair.replica.command("GET", key)) === value);
}

test("the replica follows the primary, and catches up after a cut", async () => {
  await pair.primary.command("SET", "one", "1");
  await atReplica("one", "1");
  pair.link.cut();
  await pair.primary.command("SET", "two", "2");
  expect(await pair.replica.command("GET", "two")).toBeNull();
  await pair.link.heal();
  await pair.waitForLink();
  await atReplica("two", "2");
});

test("a partition delays writes, and a promotion loses them", async () => {
  await redisCommand(pair.front.port, ["SET", "before", "1"]);
  await atReplica("before", "1");
  pair.link.blackhole();
  expect(await redisCommand(pair.front.port, ["SET", "after", "1"])).toBe("OK");
  await sleep(200);

  await pair.promote();
  pair.front.retarget({ host: HOST, port: pair.replica.port });
  expect(await redisCommand(pair.front.port, ["GET", "before"])).toBe("1");
  expect(await redisCommand(pair.front.port, ["GET", "after"])).toBeNull();
  expect(await redisCommand(pair.front.port, ["SET", "new", "1"])).toBe("OK");
  expect(await pair.primary.command("GET", "after")).toBe("1");
});
