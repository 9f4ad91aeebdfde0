/** Tests that a worker reports a Redis that may lose acknowledged appends, once, and that its gateway doesn't. */
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { expect, test } from "vitest";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { startWorker } from "../../../src/worker/supervise.ts";
import { createMemoryBackend } from "../../gateway/test-server.ts";

test.each([
  ["always", []],
  ["everysec", ["has `appendfsync everysec`"]],
])("a worker on Redis with appendfsync %s", async (appendfsync, reports) => {
  const redis = await startRedis({ config: { appendfsync } });
  const log = await createRedisLog({ url: redis.url });
  const parts = { ...createMemoryBackend(), log };
  const errors: string[] = [];
  const onError = (error: unknown) => errors.push(String(error));
  const gateway = createGateway({ ...parts, secrets: ["s".repeat(32)], onError });
  const worker = await startWorker({
    ...parts,
    agents: [defineAgent({ name: "a", model: scriptedModel(() => []) })],
    onError,
  });
  await redis.kill();
  await redis.restart();
  // The answer comes over a new connection, which has read the setting again.
  expect(await log.head({ tenant: "t", session: "s" })).toBeNull();
  expect(errors.filter((error) => error.includes("NOT_DURABLE"))).toEqual(
    reports.map((shown) => expect.stringContaining(`Redis at 127.0.0.1:${redis.port} ${shown}`) as string),
  );
  await worker.shutdown();
  await gateway.close();
  await log.close();
  await redis.stop();
});
