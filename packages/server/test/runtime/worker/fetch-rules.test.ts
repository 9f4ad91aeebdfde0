/** Tests how many jobs a worker fetches, whose, and when. */
import { describe, expect, test } from "vitest";
import { batchSize, crowdingTenants, fetchDelayMs } from "../../../src/runtime/worker/fetch-rules.ts";

/** Fills a worker as the loop does, always from the first tenant that isn't skipped. */
function fill(slots: number, tenants: readonly string[]): string[] {
  const running: string[] = [];
  for (;;) {
    const free = slots - running.length;
    const skipped = free === 0 ? tenants : crowdingTenants(running, free);
    const next = tenants.find((tenant) => !skipped.includes(tenant));
    if (next === undefined) return running;
    running.push(
      ...Array.from(
        { length: Math.min(free, batchSize({ free, running: running.length, least: null })) },
        () => next,
      ),
    );
  }
}

const count = (running: readonly string[], tenant: string) => running.filter((one) => one === tenant).length;

const sizeAlone = (free: number) => batchSize({ free, running: 0, least: null });
const sizeBeside = (running: number, least: number) => batchSize({ free: 1_000, running, least });

describe("a worker", () => {
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

  test("fetches small batches", () => {
    expect([1, 7, 8, 40, 1_000].map(sizeAlone)).toEqual([1, 1, 1, 5, 8]);
    expect([sizeBeside(0, 0), sizeBeside(30, 30), sizeBeside(40, 30), sizeBeside(10, 30)]).toEqual([
      2, 5, 1, 8,
    ]);
  });

  test("answers a hint within milliseconds, and waits longer the more it runs after a wake-up of all workers", () => {
    expect(fetchDelayMs("hint", 50, 0.99)).toBeLessThan(5);
    expect(fetchDelayMs("broadcast", 0, 0)).toBe(0);
    expect(fetchDelayMs("broadcast", 10, 0)).toBeGreaterThan(fetchDelayMs("broadcast", 0, 0.99));
    expect(fetchDelayMs("broadcast", -5, 0)).toBe(0);
    expect(fetchDelayMs("broadcast", 10_000, 0.99)).toBeLessThan(300);
  });
});
