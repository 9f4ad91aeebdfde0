/** Tests the timing of leases: how long a lease is valid, and when an executor renews and polls. */
import { expect, test } from "vitest";

import { leaseIsFresh, watchIntervalMs, renewIntervalMs } from "../../src/engine/lease-timing.ts";

test("a lease is valid for less than the TTL after the renewal was sent", () => {
  expect(leaseIsFresh(1_000, 1_000, 3_000)).toBe(true);
  expect(leaseIsFresh(1_000, 3_999, 3_000)).toBe(true);
  expect(leaseIsFresh(1_000, 4_000, 3_000)).toBe(false);
  expect(leaseIsFresh(-Infinity, 0, 3_000)).toBe(false);
});

test("renews so often that two renewals can fail", () => {
  for (const ttl of [3, 10, 3_000]) expect(renewIntervalMs(ttl) * 3).toBeLessThanOrEqual(ttl);
  expect(renewIntervalMs(1)).toBe(1);
});

test("polls every third of the TTL on average, with a jitter of one eighth", () => {
  expect(watchIntervalMs(3_000, 0)).toBe(750);
  expect(watchIntervalMs(3_000, 0.5)).toBe(1_000);
  expect(watchIntervalMs(3_000, 1)).toBe(1_250);
  expect(watchIntervalMs(1, 0)).toBe(1);
});
