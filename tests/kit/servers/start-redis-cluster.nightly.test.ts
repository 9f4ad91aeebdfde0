/**
 * Tests that the shared cluster is complete and its keys are distributed, and that a killed node of another cluster
 * returns.
 */
import { afterAll, expect, test } from "vitest";

import { type RedisCluster, startRedisCluster } from "./start-redis-cluster.ts";
import { RedisReplyError, redisCommand } from "./redis-command.ts";
import { freshPrefix, sharedClusterNodes } from "./shared-servers.ts";

const started: RedisCluster[] = [];

afterAll(async () => {
  await Promise.all(started.map(async (cluster) => await cluster.stop()));
});

/** Returns the node that accepts the key. All others must redirect to it. */
async function ownerOf(ports: number[], key: string): Promise<number> {
  const answers = await Promise.all(
    ports.map(async (port) => await redisCommand(port, ["SET", key, port]).catch((error: unknown) => error)),
  );
  const [owner = -1, ...others] = ports.filter((_, index) => answers[index] === "OK");
  expect(others).toEqual([]);
  const redirections = answers.filter((answer) => answer instanceof RedisReplyError);
  expect(redirections.map(({ message }) => message.split(" ")[2])).toEqual(
    redirections.map(() => `127.0.0.1:${owner}`),
  );
  expect(redirections).toHaveLength(ports.length - 1);
  return owner;
}

test("every node owns keys and redirects clients for all others", async () => {
  const ports = sharedClusterNodes().map(({ url }) => Number(new URL(url).port));
  const prefix = freshPrefix();
  const owners = new Set<number>();
  for (let n = 0; n < 50; n++) owners.add(await ownerOf(ports, `${prefix}${n}`));
  expect(owners).toEqual(new Set(ports));
});

test("a killed node returns with its keys and slots", async () => {
  const cluster = await startRedisCluster();
  started.push(cluster);
  const owner = await ownerOf(
    cluster.nodes.map(({ port }) => port),
    "key",
  );
  const killed = cluster.nodes.find(({ port }) => port === owner);
  if (!killed) throw new Error("no node owns the key");
  await killed.kill();
  await cluster.waitUntilBroken();
  await killed.restart();
  await cluster.waitUntilWhole();
  expect(await killed.command("GET", "key")).toBe(String(owner));
});
