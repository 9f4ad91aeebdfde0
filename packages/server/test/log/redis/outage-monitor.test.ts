/** When a server counts as away, and who is told of it how often: on a clock of the test. */
import { expect, test } from "vitest";
import type { LogError } from "../../../src/log/errors.ts";
import { OutageMonitor } from "../../../src/log/redis/connection/outage-monitor.ts";

const AT = "10.0.0.1:6379";

function rehearse() {
  let now = 0;
  const outages = new OutageMonitor(() => now);
  const told: LogError[] = [];
  const stop = outages.listen((error) => told.push(error));
  const failAfter = (ms: number) => {
    now += ms;
    outages.failed(AT, new Error("refused"));
  };
  return { outages, told, stop, failAfter };
}

test("an outage is told once, and again after the server was there in between", () => {
  const { outages, told, failAfter } = rehearse();
  outages.connecting(AT);
  for (let n = 0; n < 200; n++) failAfter(50);
  expect(told).toHaveLength(1);
  expect(told[0]).toMatchObject({ code: "UNAVAILABLE", cause: { message: "refused" } });
  expect(told[0]?.message).toContain(`Redis at ${AT} can't be reached`);
  outages.connected(AT);
  outages.connecting(AT);
  failAfter(3_000);
  expect(told).toHaveLength(2);
});

test("what a failover takes is not told", () => {
  const { outages, told, failAfter } = rehearse();
  for (let n = 0; n < 3; n++) {
    outages.connecting(AT);
    failAfter(2_000);
    outages.connected(AT);
  }
  expect(told).toEqual([]);
});

test("who comes late is told of what lasts, and who has left of nothing", () => {
  const { outages, told, stop, failAfter } = rehearse();
  outages.connecting(AT);
  stop();
  failAfter(5_000);
  expect(told).toEqual([]);
  const late: LogError[] = [];
  outages.listen((error) => late.push(error));
  expect(late).toHaveLength(1);
  outages.forget(AT);
  outages.listen((error) => late.push(error));
  expect(late).toHaveLength(1);
});
