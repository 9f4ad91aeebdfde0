/** Tests when `OutageMonitor` reports a server as unreachable, and how often, on a fake clock. */
import { expect, test } from "vitest";
import type { LogError } from "../../../src/log/errors.ts";
import { OutageMonitor } from "../../../src/log/redis/connection/outage-monitor.ts";

const AT = "10.0.0.1:6379";

function rehearse() {
  let now = 0;
  const outages = new OutageMonitor(() => now);
  const reported: LogError[] = [];
  const stop = outages.listen((error) => reported.push(error));
  const failAfter = (ms: number) => {
    now += ms;
    outages.failed(AT, new Error("refused"));
  };
  return { outages, reported, stop, failAfter };
}

test("reports an outage once, and again after the server was reachable in between", () => {
  const { outages, reported, failAfter } = rehearse();
  outages.connecting(AT);
  for (let n = 0; n < 200; n++) failAfter(50);
  expect(reported).toHaveLength(1);
  expect(reported[0]).toMatchObject({ code: "UNAVAILABLE", cause: { message: "refused" } });
  expect(reported[0]?.message).toContain(`Redis at ${AT} can't be reached`);
  outages.connected(AT);
  outages.connecting(AT);
  failAfter(3_000);
  expect(reported).toHaveLength(2);
});

test("reports refused writes once per outage, and a server that evicts", () => {
  let now = 0;
  const outages = new OutageMonitor(() => now);
  const reported: LogError[] = [];
  outages.listen((error) => reported.push(error));
  const refuse = (ms: number) => {
    now += ms;
    outages.refused(AT, "OOM");
  };
  refuse(0);
  refuse(1_000);
  outages.accepted(AT);
  expect(reported).toEqual([]);
  for (let n = 0; n < 10; n++) refuse(1_000);
  expect(reported).toHaveLength(1);
  expect(reported[0]?.message).toContain(`Redis at ${AT} refuses writes (OOM)`);
  expect(outages.isImpaired).toBe(true);
  // A server whose memory is almost full accepts some writes.
  for (let n = 0; n < 10; n++) {
    now += 1_000;
    outages.accepted(AT);
    refuse(1_000);
  }
  expect(reported).toHaveLength(1);
  now += 31_000;
  outages.accepted(AT);
  expect(outages.isImpaired).toBe(false);
  for (let n = 0; n < 4; n++) refuse(1_000);
  expect(reported).toHaveLength(2);
  outages.evicts(AT, "noeviction");
  expect(outages.eviction).toBeNull();
  outages.evicts(AT, "volatile-lru");
  outages.evicts(AT, "volatile-lru");
  expect(reported).toHaveLength(3);
  expect(outages.eviction?.code).toBe("EVICTS");
});

test("does not report an outage as short as a failover", () => {
  const { outages, reported, failAfter } = rehearse();
  for (let n = 0; n < 3; n++) {
    outages.connecting(AT);
    failAfter(2_000);
    outages.connected(AT);
  }
  expect(reported).toEqual([]);
});

test("reports a lasting outage to a late listener, and nothing to a stopped one", () => {
  const { outages, reported, stop, failAfter } = rehearse();
  outages.connecting(AT);
  stop();
  failAfter(5_000);
  expect(reported).toEqual([]);
  const late: LogError[] = [];
  outages.listen((error) => late.push(error));
  expect(late).toHaveLength(1);
  outages.forget(AT);
  outages.listen((error) => late.push(error));
  expect(late).toHaveLength(1);
});

test("reports the first server that isn't durable, also to a late listener", () => {
  const { outages, reported } = rehearse();
  outages.stores(AT, { state: "durable" });
  outages.stores(AT, { state: "by-service", service: "Amazon MemoryDB" });
  expect(reported).toEqual([]);
  outages.stores(AT, { state: "unknown" });
  outages.stores("10.0.0.2:6379", { state: "lossy", setting: "appendonly no" });
  outages.connected(AT);
  expect(reported).toHaveLength(1);
  expect(reported[0]).toMatchObject({ code: "NOT_DURABLE" });
  expect(reported[0]?.message).toContain(`Redis at ${AT} doesn't show its settings`);
  outages.listen((error) => reported.push(error));
  expect(reported).toHaveLength(2);
  expect(outages.isImpaired).toBe(false);
});
