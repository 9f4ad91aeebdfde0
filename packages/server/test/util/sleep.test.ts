/** Tests sleeping: it ends after its time, on abort, or when it is woken, and cleans up each time. */
import { expect, test } from "vitest";
import { sleep } from "../../src/util/sleep.ts";

test("ends after its time", async () => {
  const started = performance.now();
  await sleep(20);
  expect(performance.now() - started).toBeGreaterThanOrEqual(18);
});

test("rejects with the signal's reason when it is aborted before or during the sleep", async () => {
  const controller = new AbortController();
  const sleeping = sleep(60_000, { signal: controller.signal });
  controller.abort(new Error("stopped"));
  await expect(sleeping).rejects.toThrow("stopped");
  await expect(sleep(60_000, { signal: controller.signal })).rejects.toThrow("stopped");
});

test("ends early when it is woken, and runs the cleanup once", async () => {
  let cleanups = 0;
  const wakes: (() => void)[] = [];
  const sleeping = sleep(60_000, {
    registerWake: (wake) => {
      wakes.push(wake);
      return () => void cleanups++;
    },
  });
  for (const wake of wakes) wake();
  await sleeping;
  expect(cleanups).toBe(1);
});
