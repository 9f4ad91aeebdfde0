/** Tests the allowance that limits the rate at which a gateway reads from one socket. */
import { describe, expect, test } from "vitest";
import { type Allowance, refill, takeBytes } from "../../../src/gateway/ws/receive-rate.ts";

describe("the allowance of a socket", () => {
  const limits = { bytesPerSecond: 100, burstBytes: 300 };

  test("starts full, sinks with every frame, and is refilled with time up to the burst", () => {
    let allowance: Allowance = takeBytes(null, 250, 0, limits);
    expect(allowance.bytes).toBe(50);
    allowance = takeBytes(allowance, 150, 500, limits);
    expect(allowance.bytes).toBe(-50);
    expect(refill(allowance, 1_000, limits)).toEqual({ bytes: 0, at: 1_000 });
    expect(refill(allowance, 3_000, limits)?.bytes).toBe(200);
    expect(refill(allowance, 4_000, limits)).toBeNull();
  });

  test("limits the average, whatever the pattern of sending", () => {
    let allowance: Allowance = null;
    let sent = 0;
    for (let now = 0; now < 60_000; now += 10) {
      const current = refill(allowance, now, limits);
      if (current !== null && current.bytes < 0) continue;
      allowance = takeBytes(current, 70, now, limits);
      sent += 70;
    }
    expect(sent).toBeLessThanOrEqual(300 + 100 * 60 + 70);
  });
});
