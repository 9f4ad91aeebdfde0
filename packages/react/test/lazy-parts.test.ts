/** Parts that are loaded later come in the end, also where the first try fails. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLazyParts } from "../src/lazy-parts.tsx";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("what could not be loaded is tried again while something waits for it", async () => {
  let tries = 0;
  const later = createLazyParts(async () => {
    if (++tries < 4) throw new Error("The network is away.");
    return await Promise.resolve("cards");
  });
  const seen = vi.fn<() => void>();
  later.subscribe(seen);
  await later.load();
  expect(later.get()).toBeNull();
  await vi.advanceTimersByTimeAsync(1_000 + 2_000 + 4_000);
  expect(later.get()).toBe("cards");
  expect([tries, seen.mock.calls.length]).toEqual([4, 1]);
});

test("and not where nobody does", async () => {
  let tries = 0;
  const later = createLazyParts(async () => {
    tries++;
    return await Promise.reject<string>(new Error("The network is away."));
  });
  await later.load();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(tries).toBe(1);
});
