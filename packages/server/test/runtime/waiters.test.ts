/** Whoever waits for a person hears of a decision, also of one that is made while the store is being asked. */
import { expect, test } from "vitest";
import { Waiters } from "../../src/runtime/interactions/waiters.ts";

const LONG_MS = 60_000;
const { signal } = new AbortController();

test("a decision between the look and the wait is heard", async () => {
  const waiters = new Waiters();
  const waiter = waiters.enter("s");
  waiter.look();
  waiters.wake("s");
  const begun = performance.now();
  await waiter.wait(LONG_MS, signal);
  expect(performance.now() - begun).toBeLessThan(1_000);
});

test("one that was looked at is not heard again, nor one of another session, nor after leaving", async () => {
  const waiters = new Waiters();
  const waiter = waiters.enter("s");
  waiters.wake("s");
  waiter.look();
  waiters.wake("other");
  const begun = performance.now();
  const waited = waiter.wait(50, signal);
  waiter.leave();
  waiters.wake("s");
  await waited;
  expect(performance.now() - begun).toBeGreaterThan(40);
});

test("all who wait in a session are woken, and stopping ends a wait", async () => {
  const waiters = new Waiters();
  const all = [waiters.enter("s"), waiters.enter("s")].map((waiter) => waiter.wait(LONG_MS, signal));
  waiters.wake("s");
  await Promise.all(all);
  const stop = new AbortController();
  const stopped = waiters.enter("s").wait(LONG_MS, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(stopped).rejects.toThrow("stopped");
});
