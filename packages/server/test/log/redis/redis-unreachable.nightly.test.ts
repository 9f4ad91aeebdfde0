/**
 * Tests a Redis that is unreachable from the start: the gateway and the worker report it, and reads fail after a
 * bounded wait.
 */
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { expect, test } from "vitest";
import { isLogError } from "../../../src/log/errors.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { startWorker } from "../../../src/worker/supervise.ts";
import { createMemoryBackend } from "../../gateway/test-server.ts";

test("onError of the gateway and of the worker name the server once, without the password", async () => {
  const port = await freePort();
  const log = await createRedisLog({ url: `redis://user:canary@127.0.0.1:${port}` });
  const parts = { ...createMemoryBackend(), log };
  const errors: string[] = [];
  const onError = (error: unknown) => errors.push(String(error));
  const gateway = createGateway({ ...parts, secrets: ["s".repeat(32)], onError });
  const worker = await startWorker({
    ...parts,
    agents: [defineAgent({ name: "a", model: scriptedModel(() => []) })],
    onError,
  });
  const outages = () =>
    errors.filter((error) => error.includes(`Redis at 127.0.0.1:${port} can't be reached`));
  await expect.poll(outages).toHaveLength(2);
  expect(errors.join("\n")).not.toContain("canary");
  await worker.shutdown();
  await gateway.close();
  await log.close();
});

test("a read fails after one wait if no server was ever reachable, and waits longer if one was", async () => {
  const WAIT_MS = 600;
  const SESSION = { tenant: "t", session: "s" };
  const away = await createRedisLog({
    url: `redis://127.0.0.1:${await freePort()}`,
    connectionWaitMs: WAIT_MS,
  });
  const redis = await startRedis();
  const lost = await createRedisLog({ url: redis.url, connectionWaitMs: WAIT_MS });
  expect(await lost.head(SESSION)).toBeNull();
  await redis.stop();
  const started = performance.now();
  const waited = async (work: Promise<unknown>) => {
    await expect(work).rejects.toSatisfy((error) => isLogError(error, "UNAVAILABLE"));
    return performance.now() - started;
  };
  const [early, late] = await Promise.all([waited(away.head(SESSION)), waited(lost.head(SESSION))]);
  expect(late / early).toBeGreaterThan(2);
  await Promise.all([away.close(), lost.close()]);
});
