/** Whoever waits for a person hears of a decision, also of one that is made while the store is being asked. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DecisionWaiters } from "../../../src/runtime/interactions/decision-waiters.ts";

const LONG_MS = 60_000;
const { signal } = new AbortController();

// No time passes by itself: who comes back was woken.
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a decision between the look and the wait is heard", async () => {
  const waiters = new DecisionWaiters();
  const waiter = waiters.open("s");
  waiter.markChecked();
  waiters.wake("s");
  await expect(waiter.wait(LONG_MS, signal)).resolves.toBeUndefined();
}, 30_000);

test("one that was looked at is not heard again, nor one of another session, nor after leaving", async () => {
  const waiters = new DecisionWaiters();
  const waiter = waiters.open("s");
  waiters.wake("s");
  waiter.markChecked();
  waiters.wake("other");
  const back = vi.fn<() => void>();
  const waited = waiter.wait(50, signal).then(back);
  waiter.close();
  waiters.wake("s");
  await vi.advanceTimersByTimeAsync(49);
  expect(back).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await waited;
});

test("all who wait in a session are woken, and stopping ends a wait", async () => {
  const waiters = new DecisionWaiters();
  const all = [waiters.open("s"), waiters.open("s")].map((waiter) => waiter.wait(LONG_MS, signal));
  waiters.wake("s");
  await Promise.all(all);
  const stop = new AbortController();
  const stopped = waiters.open("s").wait(LONG_MS, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(stopped).rejects.toThrow("stopped");
});
