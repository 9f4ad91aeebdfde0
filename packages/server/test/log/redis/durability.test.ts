/** Tests what `readDurability` concludes from the replies of a server that hides its settings. */
import { expect, test } from "vitest";
import { readDurability } from "../../../src/log/redis/connection/durability.ts";

const read = (url: string, settings: Readonly<Record<string, string>> | null, info = "os:Linux 6.1") =>
  readDurability(
    {
      configGet: async () => settings ?? Promise.reject(new Error("NOPERM")),
      sendCommand: async <T>() => `# Server\r\n${info}\r\n` as T,
    },
    url,
  );

const MEMORY_DB = { state: "by-service", service: "Amazon MemoryDB" };

test.each([
  ["rediss://clustercfg.chat.x1.memorydb.us-east-1.amazonaws.com:6379", undefined, MEMORY_DB],
  ["rediss://clustercfg.chat.x1.memorydb.cn-north-1.amazonaws.com.cn", undefined, MEMORY_DB],
  ["redis://10.0.0.1:6379", "os:Amazon MemoryDB", MEMORY_DB],
  ["redis://chat.x1.clustercfg.use1.cache.amazonaws.com", "os:Amazon ElastiCache", { state: "unknown" }],
  ["redis://x.memorydb.us-east-1.amazonaws.com.example", undefined, { state: "unknown" }],
])("hidden settings at %s, %s", async (url, info, durability) => {
  expect(await read(url, null, info)).toEqual(durability);
});

test("a service that leaves the settings out hides them", async () => {
  expect(await read("redis://h", {})).toEqual({ state: "unknown" });
  expect(await read("redis://h", { appendonly: "yes" })).toEqual({ state: "unknown" });
});

test.each([
  ["no", { state: "durable" }],
  ["yes", { state: "lossy", setting: "no-appendfsync-on-rewrite yes" }],
])("appendfsync always with no-appendfsync-on-rewrite %s", async (value, durability) => {
  const settings = { appendonly: "yes", appendfsync: "always", "no-appendfsync-on-rewrite": value };
  expect(await read("redis://h", settings)).toEqual(durability);
});
