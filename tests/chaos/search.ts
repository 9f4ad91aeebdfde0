/**
 * `searchTables`, `searchRedis` and `searchFiles` look for a text in everything that the servers store: every column of
 * every table, every key and value of Redis, and the bytes of their files.
 *
 * Invariant: the search compares bytes, so the content must be stored uncompressed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import type { RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import type { RedisReply } from "@turnstream/testkit/servers/redis-command.ts";

const TABLES = "select table_name as name from information_schema.tables where table_schema = 'turnstream'";

/** @returns one line per row that contains the needle */
export async function searchTables(url: string, needle: string): Promise<string[]> {
  const tables = (await runSql(url, TABLES)).map(({ name }) => String(name));
  // `t::text` shows bytes as hexadecimal.
  const like = `t::text like '%${needle}%' or t::text like '%${Buffer.from(needle).toString("hex")}%'`;
  const each = tables.map(
    (name) => `select '${name}: ' || left(t::text, 200) as hit from "${name}" t where ${like}`,
  );
  return (await runSql(url, each.join(" union all "))).map(({ hit }) => String(hit));
}

export async function searchRedis(redis: RedisServer, needle: string): Promise<string[]> {
  const hits: string[] = [];
  for (let cursor = "0"; ;) {
    const [next, keys] = (await redis.command("SCAN", cursor, "COUNT", 500)) as [string, string[]];
    for (const key of keys) if (holds([key, await valueOf(redis, key)], needle)) hits.push(`redis: ${key}`);
    if (next === "0") return hits;
    cursor = next;
  }
}

async function valueOf(redis: RedisServer, key: string): Promise<RedisReply> {
  // A deleted stream entry can still be in the bytes of the stream. The server's settings keep them uncompressed.
  const dump = await redis.command("DUMP", key);
  switch (await redis.command("TYPE", key)) {
    case "none":
      return null;
    case "stream":
      return [dump, await redis.command("XRANGE", key, "-", "+")];
    case "string":
      return [dump, await redis.command("GET", key)];
    default:
      throw new Error(`the search doesn't support the type of the Redis key ${key}`);
  }
}

function holds(value: RedisReply, needle: string): boolean {
  return Array.isArray(value) ? value.some((part) => holds(part, needle)) : String(value).includes(needle);
}

/** @param without names of folders to skip */
export function searchFiles(folder: string, needle: string, without: readonly string[] = []): string[] {
  const bytes = Buffer.from(needle);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (file) =>
        !relative(folder, file)
          .split("/")
          .some((part) => without.includes(part)),
    )
    .filter((file) => readFileSync(file).includes(bytes))
    .map((file) => relative(folder, file));
}
