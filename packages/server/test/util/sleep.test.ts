/** Tests sleeping: it ends after its time, on abort, or when it is woken, and cleans up each time. */
import { expect, onTestFinished, test, vi } from "vitest";
import { sleep } from "../../src/util/sleep.ts";

const LONG_MS = 60_000;

test("ends after its time", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let isOver = false;
  const sleeping = sleep(LONG_MS).then(() => (isOver = true));
  await vi.advanceTimersByTimeAsync(LONG_MS - 1);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await sleeping;
});

test("rejects with the signal's reason when it is aborted before or during the sleep", async () => {
  const controller = new AbortController();
  const sleeping = sleep(LONG_MS, { signal: controller.signal });
  controller.abort(new Error("stopped"));
  await expect(sleeping).rejects.toThrow("stopped");
  await expect(sleep(LONG_MS, { signal: controller.signal })).rejects.toThrow("stopped");
});

test("ends early when it is woken, and runs the cleanup once", async () => {
  let cleanups = 0;
  const wakes: (() => void)[] = [];
  const sleeping = sleep(LONG_MS, {
    registerWake: (wake) => {
      wakes.push(wake);
      return () => void cleanups++;
    },
  });
  for (const wake of wakes) wake();
  await sleeping;
  expect(cleanups).toBe(1);
});
