/** Tests that tests can reach the servers of global-setup.ts. */
import { Client } from "pg";
import { expect, test } from "vitest";

import { redisCommand } from "./redis-command.ts";
import {
  freshDatabaseUrl,
  freshPrefix,
  preparedDatabaseUrl,
  sharedClusterNodes,
  sharedRedisUrl,
} from "./shared-servers.ts";
import { runSql } from "./run-sql.ts";

test("Redis answers", async () => {
  const port = Number(new URL(sharedRedisUrl()).port);
  const key = `${freshPrefix()}key`;
  await redisCommand(port, ["SET", key, "1"]);
  expect(await redisCommand(port, ["GET", key])).toBe("1");
});

test("the cluster has three nodes", () => {
  expect(sharedClusterNodes()).toHaveLength(3);
});

test("every call creates a new database", async () => {
  const urls = await Promise.all([freshDatabaseUrl(), freshDatabaseUrl()]);
  expect(new Set(urls).size).toBe(2);
  for (const url of urls) {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query("create table same_name ()");
    await client.end();
  }
});

test("prepares a template once, and its copies are independent", async () => {
  const template = `template_${freshPrefix().replaceAll(/[^a-z0-9]/g, "")}`;
  let prepared = 0;
  const prepare = async (url: string): Promise<void> => {
    prepared++;
    await runSql(url, "create table notes (text text)", "insert into notes values ('of the template')");
  };
  const urls = await Promise.all([1, 2, 3].map(() => preparedDatabaseUrl(template, prepare)));
  expect([new Set(urls).size, prepared]).toEqual([3, 1]);
  for (const url of urls) {
    const rows = await runSql(
      url,
      "insert into notes values ('own')",
      "select text from notes order by text",
    );
    expect(rows).toEqual([{ text: "of the template" }, { text: "own" }]);
  }
});

test("prepares a template again after a failure", async () => {
  const template = `template_${freshPrefix().replaceAll(/[^a-z0-9]/g, "")}`;
  await expect(preparedDatabaseUrl(template, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await expect(preparedDatabaseUrl(template, async () => undefined)).resolves.toContain("/test_");
});
