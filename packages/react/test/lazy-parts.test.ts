/** Tests that `createLazyParts` reports and retries a failed load. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLazyParts } from "../src/lazy-parts.tsx";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("retries a failed load with backoff while a component waits for it", async () => {
  let tries = 0;
  const later = createLazyParts(async () => {
    if (++tries < 4) throw new Error("The network is away.");
    return await Promise.resolve("cards");
  });
  const seen = vi.fn<() => void>();
  later.subscribe(seen);
  await later.load();
  expect(later.getStatus()).toBe("failed");
  await vi.advanceTimersByTimeAsync(1_000 + 2_000 + 4_000);
  expect(later.getStatus()).toBe("loaded");
  expect([tries, seen.mock.calls.length]).toEqual([4, 4]);
});

test("a retry by the user replaces the one that was scheduled", async () => {
  let tries = 0;
  const later = createLazyParts(async () => {
    tries++;
    return await Promise.reject<string>(new Error("The network is away."));
  });
  later.subscribe(() => {});
  await later.load();
  await vi.advanceTimersByTimeAsync(900);
  await later.load();
  expect(tries).toBe(2);
  await vi.advanceTimersByTimeAsync(1_900);
  expect(tries).toBe(2);
  await vi.advanceTimersByTimeAsync(200);
  expect(tries).toBe(3);
});

test("does not retry while no component waits for it", async () => {
  let tries = 0;
  const later = createLazyParts(async () => {
    tries++;
    return await Promise.reject<string>(new Error("The network is away."));
  });
  await later.load();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(tries).toBe(1);
});
