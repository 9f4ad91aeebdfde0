/** Runs the contract of signals on one Redis and on a cluster, and tests signals without a server. */
import { spawn } from "node:child_process";
import {
  freshPrefix,
  sharedClusterNodes,
  sharedRedisUrl,
} from "@turnstream/testkit/servers/shared-servers.ts";
import { expect, test } from "vitest";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { connect, signalsContract } from "./signals.contract.ts";

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
  here.send("a", "delivered");
  await expect.poll(() => received).toContain("delivered");
  expect(received).not.toContain("lost");
  await Promise.all([alone, here, there].map((each) => each.close()));
});

test.each([
  ["a server", () => sharedRedisUrl()],
  ["no server", () => "redis://127.0.0.1:1"],
])("don't keep a process alive that has %s", async (_, url) => {
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
  const code = await new Promise((resolve) => child.once("exit", resolve));
  expect({ code, output }).toEqual({ code: 0, output: "done\n" });
});
