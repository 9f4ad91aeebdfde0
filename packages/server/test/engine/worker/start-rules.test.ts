/** Tests how many turns a process starts, whose, and when. */
import { describe, expect, test } from "vitest";
import { batchSize, crowdingTenants, startDelayMs } from "../../../src/engine/worker/start-rules.ts";

/** Fills a process as the loop does, always from the first tenant that isn't skipped. */
function fill(slots: number, tenants: readonly string[]): string[] {
  const running: string[] = [];
  for (;;) {
    const free = slots - running.length;
    const skipped = free === 0 ? tenants : crowdingTenants(running, free);
    const next = tenants.find((tenant) => !skipped.includes(tenant));
    if (next === undefined) return running;
    running.push(...Array.from({ length: Math.min(free, batchSize(free)) }, () => next));
  }
}

const count = (running: readonly string[], tenant: string) => running.filter((one) => one === tenant).length;

describe("a process", () => {
  test.each([
    [10, 9],
    [100, 90],
    [1_000, 900],
  ])("of %i slots gives a lone tenant about %i of them", (slots, expected) => {
    const used = fill(slots, ["a"]).length;
    expect(used).toBeGreaterThanOrEqual(expected);
    expect(used).toBeLessThan(slots * 0.93);
  });

  test("with few slots uses all of them", () => {
    expect([1, 2, 5].map((slots) => fill(slots, ["a"]).length)).toEqual([1, 2, 5]);
  });

  test("full of one tenant's turns has free slots for others", () => {
    const running = fill(100, ["a", "b", "c"]);
    expect(count(running, "a")).toBeGreaterThan(85);
    expect(count(running, "b")).toBeGreaterThan(3);
    expect(count(running, "c")).toBeGreaterThan(0);
  });

  test("starts small batches", () => {
    expect([1, 7, 8, 40, 1_000].map(batchSize)).toEqual([1, 1, 1, 5, 8]);
  });

  test("asks within milliseconds when it is idle, and the later the more of its slots are in use", () => {
    expect(startDelayMs(0, 0)).toBe(0);
    expect(startDelayMs(0, 0.99)).toBeLessThan(5);
    // The least loaded process asks first, whatever the jitter.
    expect(startDelayMs(0.1, 0)).toBeGreaterThan(startDelayMs(0, 0.99));
    expect(startDelayMs(0.9, 0)).toBeGreaterThan(startDelayMs(0.8, 0.99));
    expect(startDelayMs(1, 0.99)).toBeLessThan(200);
  });
});
