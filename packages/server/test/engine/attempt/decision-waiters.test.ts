/** Tests `DecisionWaiters`: a waiter is woken by a decision, also by one that is made while it reads the store. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DecisionWaiters } from "../../../src/engine/attempt/decision-waiters.ts";

const REF = { tenant: "t", session: "s" };
const LONG_MS = 60_000;
const { signal } = new AbortController();

// Fake timers never fire by themselves, so a wait that ends was woken.
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a decision between the check and the wait wakes the waiter", async () => {
  const waiters = new DecisionWaiters();
  const waiter = waiters.open(REF);
  waiter.markChecked();
  waiters.wake(REF);
  await expect(waiter.wait(LONG_MS, signal)).resolves.toBeUndefined();
}, 30_000);

test("a decision before the check, in another session, in another tenant or after close wakes no waiter", async () => {
  const waiters = new DecisionWaiters();
  const waiter = waiters.open(REF);
  waiters.wake(REF);
  waiter.markChecked();
  waiters.wake({ ...REF, session: "other" });
  waiters.wake({ ...REF, tenant: "other" });
  const back = vi.fn<() => void>();
  const waited = waiter.wait(50, signal).then(back);
  waiter.close();
  waiters.wake(REF);
  await vi.advanceTimersByTimeAsync(49);
  expect(back).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await waited;
});

test("wakes all waiters of a session, and an abort ends a wait", async () => {
  const waiters = new DecisionWaiters();
  const all = [waiters.open(REF), waiters.open(REF)].map((waiter) => waiter.wait(LONG_MS, signal));
  waiters.wake(REF);
  await Promise.all(all);
  const stop = new AbortController();
  const stopped = waiters.open(REF).wait(LONG_MS, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(stopped).rejects.toThrow("stopped");
});
