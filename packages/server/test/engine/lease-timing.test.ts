/** When an executor is alive, and when it looks. */
import { expect, test } from "vitest";

import { leaseIsFresh, watchIntervalMs, renewIntervalMs } from "../../src/engine/lease-timing.ts";

test("is fresh for less than the time to live after a renewal was sent", () => {
  expect(leaseIsFresh(1_000, 1_000, 3_000)).toBe(true);
  expect(leaseIsFresh(1_000, 3_999, 3_000)).toBe(true);
  expect(leaseIsFresh(1_000, 4_000, 3_000)).toBe(false);
  expect(leaseIsFresh(-Infinity, 0, 3_000)).toBe(false);
});

test("renews so often that two may fail", () => {
  for (const ttl of [3, 10, 3_000]) expect(renewIntervalMs(ttl) * 3).toBeLessThanOrEqual(ttl);
  expect(renewIntervalMs(1)).toBe(1);
});

test("looks every third of the time to live on the average, within an eighth of it", () => {
  expect(watchIntervalMs(3_000, 0)).toBe(750);
  expect(watchIntervalMs(3_000, 0.5)).toBe(1_000);
  expect(watchIntervalMs(3_000, 1)).toBe(1_250);
  expect(watchIntervalMs(1, 0)).toBe(1);
});
