/** Tests the timing of leases: how long a lease is valid, and when an executor renews and polls. */
import { expect, test } from "vitest";

import {
  addRenewal,
  leaseIsFresh,
  mayTakeOver,
  renewIntervalMs,
  watchIntervalMs,
} from "../../../src/engine/lease/lease-timing.ts";

test("a lease is valid for less than the TTL after the renewal was sent", () => {
  expect(leaseIsFresh(1_000, 1_000, 3_000)).toBe(true);
  expect(leaseIsFresh(1_000, 3_999, 3_000)).toBe(true);
  expect(leaseIsFresh(1_000, 4_000, 3_000)).toBe(false);
  expect(leaseIsFresh(-Infinity, 0, 3_000)).toBe(false);
});

test("renews so often that three renewals can fail", () => {
  for (const ttl of [4, 10, 15_000]) expect(renewIntervalMs(ttl) * 4).toBeLessThanOrEqual(ttl);
  expect(renewIntervalMs(1)).toBe(1);
});

test("after a gap in its renewals, an executor takes over others only after one TTL", () => {
  const ttl = 4_000;
  let renewals = addRenewal({ lastAt: 0, steadySince: -Infinity }, 1_000, ttl);
  expect(mayTakeOver(renewals, 3_000, ttl)).toBe(true);
  // The store may be away for all of them.
  expect(mayTakeOver(renewals, 3_001, ttl)).toBe(false);
  renewals = addRenewal(renewals, 60_000, ttl);
  expect(mayTakeOver(renewals, 60_000, ttl)).toBe(false);
  for (const at of [61_000, 62_000, 63_000, 64_000]) renewals = addRenewal(renewals, at, ttl);
  expect(mayTakeOver(renewals, 63_999, ttl)).toBe(false);
  expect(mayTakeOver(renewals, 64_000, ttl)).toBe(true);
});

test("no lease expires before its executor and all others have noticed a gap", () => {
  for (const ttl of [400, 15_000]) {
    const renewals = { lastAt: 0, steadySince: -Infinity };
    // The other one renewed up to one interval earlier, and its lease is just over.
    const now = ttl - renewIntervalMs(ttl);
    expect(mayTakeOver(renewals, now, ttl)).toBe(false);
  }
});

test("polls every quarter of the TTL on average, with a jitter of one eighth", () => {
  expect(watchIntervalMs(4_000, 0)).toBe(750);
  expect(watchIntervalMs(4_000, 0.5)).toBe(1_000);
  expect(watchIntervalMs(4_000, 1)).toBe(1_250);
  expect(watchIntervalMs(1, 0)).toBe(1);
});
