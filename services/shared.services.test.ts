/** The servers of global-setup.ts reach the tests. */
import { Client } from "pg";
import { expect, test } from "vitest";

import { redisCommand } from "./resp.ts";
import { freshDatabaseUrl, freshPrefix, sharedClusterNodes, sharedRedisUrl } from "./shared.ts";

test("Redis answers", async () => {
  const port = Number(new URL(sharedRedisUrl()).port);
  const key = `${freshPrefix()}key`;
  await redisCommand(port, ["SET", key, "1"]);
  expect(await redisCommand(port, ["GET", key])).toBe("1");
});

test("the cluster has three nodes", () => {
  expect(sharedClusterNodes()).toHaveLength(3);
});

test("each database is new", async () => {
  const urls = await Promise.all([freshDatabaseUrl(), freshDatabaseUrl()]);
  expect(new Set(urls).size).toBe(2);
  for (const url of urls) {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query("create table same_name ()");
    await client.end();
  }
});
