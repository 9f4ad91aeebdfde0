/** Tests `createSerialQueue` and `createInterval`. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createInterval, createSerialQueue } from "../../src/tabs/scheduling.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const env = {
  setTimer(run: () => void, ms: number) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

test("a task that is added while another runs starts after it", () => {
  const run = createSerialQueue();
  const order: number[] = [];
  run(() => {
    run(() => order.push(2));
    order.push(1);
  });
  expect(order).toEqual([1, 2]);
});

test("an interval runs until it is stopped, once per period however often it is started", () => {
  let runs = 0;
  const interval = createInterval(env, 100, () => (runs += 1));
  interval.start();
  interval.start();
  vi.advanceTimersByTime(350);
  expect(runs).toBe(3);
  interval.stop();
  vi.advanceTimersByTime(1_000);
  expect([runs, vi.getTimerCount()]).toEqual([3, 0]);
});

test("a task may stop its interval, or start it again", () => {
  let runs = 0;
  const interval = createInterval(env, 100, () => {
    runs += 1;
    interval.stop();
    if (runs < 2) interval.start();
  });
  interval.start();
  vi.advanceTimersByTime(1_000);
  expect([runs, vi.getTimerCount()]).toEqual([2, 0]);
});
