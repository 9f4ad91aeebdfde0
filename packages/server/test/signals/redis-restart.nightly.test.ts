/** Tests signals when their server is killed, restarted and frozen. */
import { setTimeout as sleep } from "node:timers/promises";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { expect, test } from "vitest";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { connect } from "./signals.contract.ts";

test("arrive again without intervention after the server was killed and restarted", async () => {
  const redis = await startRedis({ appendOnly: false });
  const options = { url: redis.url, healthCheckMs: 100, responseTimeoutMs: 500 };
  const [here, there] = [createRedisSignals(options), createRedisSignals(options)];
  const received: string[] = [];
  there.listen("a", (text) => received.push(text));
  await connect(here, there, "a");
  await redis.kill();
  for (let n = 0; n < 2_000; n++) here.send("a", "meanwhile");
  await sleep(300);
  await redis.restart();
  await connect(here, there, "a");
  received.length = 0;
  here.send("a", "after");
  await expect.poll(() => received).toEqual(["after"]);
  // A server that stops responding is detected, and the connection is replaced as soon as it responds again.
  redis.freeze();
  await sleep(1_000);
  redis.thaw();
  await connect(here, there, "a");
  await Promise.all([here.close(), there.close()]);
  await redis.stop();
});
