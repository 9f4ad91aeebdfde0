/** Runs the contract of signals on one Redis and on a cluster, and tests signals when a server dies. */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import {
  freshPrefix,
  sharedClusterNodes,
  sharedRedisUrl,
} from "@turnstream/testkit/servers/shared-servers.ts";
import { expect, test } from "vitest";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { connect, signalsContract } from "./signals.contract.ts";
import { TIMED } from "../timed-test.ts";

signalsContract("Redis", async () => {
  const options = { url: sharedRedisUrl(), keyPrefix: freshPrefix() };
  return [createRedisSignals(options), createRedisSignals(options)];
});

signalsContract("Redis Cluster, each at another node", async () => {
  const prefix = freshPrefix();
  const urls = sharedClusterNodes().map(({ url }) => url);
  return [
    createRedisSignals({ url: urls, keyPrefix: prefix }),
    createRedisSignals({ url: urls.toReversed(), keyPrefix: prefix }),
  ];
});

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
  await sleep(100);
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

test("use another server when the first is unreachable, and never throw when none is reachable", async () => {
  const prefix = freshPrefix();
  const dead = "redis://127.0.0.1:1";
  const here = createRedisSignals({ url: [dead, sharedRedisUrl()], keyPrefix: prefix });
  const there = createRedisSignals({ url: sharedRedisUrl(), keyPrefix: prefix });
  await connect(here, there, "a");
  const alone = createRedisSignals({ url: dead, keyPrefix: prefix });
  const received: string[] = [];
  there.listen("a", (text) => received.push(text));
  alone.listen("a", () => undefined);
  for (let n = 0; n < 10; n++) alone.send("a", "lost");
  await sleep(100);
  here.send("a", "delivered");
  await expect.poll(() => received).toContain("delivered");
  expect(received).not.toContain("lost");
  await Promise.all([alone, here, there].map((each) => each.close()));
});

test.each([
  ["a server", () => sharedRedisUrl()],
  ["no server", () => "redis://127.0.0.1:1"],
])("don't keep a process alive that has %s", TIMED, async (_, url) => {
  const file = new URL("../../src/signals/redis.ts", import.meta.url).href;
  const program = `
    const { createRedisSignals } = await import(${JSON.stringify(file)});
    const signals = createRedisSignals({ url: ${JSON.stringify(url())} });
    signals.listen("a", () => undefined);
    signals.send("a", "x");
    await new Promise((done) => setTimeout(done, 300));
    console.log("done");
  `;
  const flags = ["--conditions=@turnstream/source", "--input-type=module", "-e", program];
  const child = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (data) => (output += String(data)));
  const started = performance.now();
  const code = await new Promise((resolve) => child.once("exit", resolve));
  expect({ code, output }).toEqual({ code: 0, output: "done\n" });
  expect(performance.now() - started).toBeLessThan(8_000);
});
