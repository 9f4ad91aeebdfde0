/** Tests when a worker that can't reach the log gives up its turns, and that its clock follows the store's. */
import { expect, test } from "vitest";
import { LogProbe } from "../../../src/engine/worker/log-probe.ts";
import { StoreClock } from "../../../src/engine/attempt/store-clock.ts";
import { createMemoryStore } from "@turnstream/testing";
import { systemEnv } from "../../../src/util/env.ts";

/** Two workers and a store with one clock. */
async function setUp() {
  const time = { now: 1_000_000 };
  const { leases } = createMemoryStore({ ...systemEnv, now: () => time.now });
  const redis = { isAway: false };
  const head = async (): Promise<null> => {
    if (redis.isAway) throw new Error("Redis is unreachable");
    return null;
  };
  const probe = new LogProbe({ head }, () => time.now);
  await leases.take("a", 60_000);
  await leases.take("b", 60_000);
  return { time, leases, redis, probe, isCutOff: () => probe.isCutOff(leases, "a") };
}

test("a worker can't reach the log until its first probe succeeds", async () => {
  const { probe } = await setUp();
  expect(probe.reachesLog).toBe(false);
  await probe.probe();
  expect(probe.reachesLog).toBe(true);
});

test("gives up its turns only after another worker has reached the log since", async () => {
  const { time, leases, redis, probe, isCutOff } = await setUp();
  await probe.probe();
  await leases.renew("b", 60_000);
  expect(await isCutOff()).toBe(false);
  redis.isAway = true;
  time.now += 1_000;
  await probe.probe();
  expect(probe.reachesLog).toBe(false);
  // The other worker may not have noticed the outage yet.
  time.now += 2_000;
  await leases.renew("b", 60_000);
  time.now += 6_000;
  expect(await isCutOff()).toBe(false);
  await leases.renew("b", 60_000, { reachesLog: false });
  expect(await isCutOff()).toBe(false);
  await leases.renew("b", 60_000, { reachesLog: true });
  // After a restart of Redis, this worker may only be slower to connect.
  expect(await isCutOff()).toBe(false);
  time.now += 5_000;
  expect(await isCutOff()).toBe(true);
  redis.isAway = false;
  await probe.probe();
  expect(await isCutOff()).toBe(false);
});

test("keeps its turns if it connects a little later than another worker", async () => {
  const { time, leases, redis, probe, isCutOff } = await setUp();
  redis.isAway = true;
  await probe.probe();
  time.now += 10_000;
  await leases.renew("b", 60_000);
  expect(await isCutOff()).toBe(false);
  redis.isAway = false;
  time.now += 4_000;
  await probe.probe();
  redis.isAway = true;
  await probe.probe();
  time.now += 4_000;
  await leases.renew("b", 60_000);
  expect(await isCutOff()).toBe(false);
});

test("keeps its turns if it is alone, or if the others are dead or taken over", async () => {
  const { time, leases, redis, probe, isCutOff } = await setUp();
  redis.isAway = true;
  await probe.probe();
  time.now += 10_000;
  await leases.renew("a", 60_000);
  expect(await isCutOff()).toBe(false);
  await leases.renew("b", 1);
  time.now += 2;
  expect(await isCutOff()).toBe(false);
  await leases.takeDead("b", "a");
  expect(await isCutOff()).toBe(false);
});

test("the clock follows the store and not this machine", async () => {
  const store = { now: 5_000_000 };
  const local = { monotonic: 70 };
  const clock = new StoreClock({ clock: async () => store.now }, () => local.monotonic);
  await clock.sync();
  expect(clock.now()).toBe(5_000_000);
  local.monotonic += 1_500;
  expect(clock.now()).toBe(5_001_500);
  store.now = 5_002_000;
  await clock.sync();
  expect(clock.now()).toBe(5_002_000);
});
