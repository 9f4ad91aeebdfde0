/** Tests `retry`, `poll` and the backoff: number of attempts, delays, time limits and aborts. */
import { describe, expect, test } from "vitest";
import { backoffDelay, poll, retry, type AttemptOptions } from "../../src/util/retry.ts";

/** A fake clock that advances only when `sleep` is called. */
function fakeClock(): Required<Pick<AttemptOptions, "now" | "sleep" | "random">> & {
  readonly slept: number[];
} {
  const slept: number[] = [];
  let time = 1_000;
  return {
    slept,
    now: () => time,
    sleep: async (ms) => {
      slept.push(ms);
      time += ms;
    },
    random: () => 1,
  };
}

/** Returns work that throws `failures` errors and then returns how often it ran. */
function failing(failures: number): (attempt: number) => Promise<number> {
  return async (attempt) => {
    if (attempt <= failures) throw new Error(`failure ${attempt}`);
    return attempt;
  };
}

const isRetryable = (): boolean => true;

describe("backoff", () => {
  test("doubles up to its maximum, with jitter between half and all of the delay", () => {
    const options = { initialDelayMs: 100, maxDelayMs: 1_000 };
    const longest = [1, 2, 3, 4, 5, 5_000].map((attempt) => backoffDelay(attempt, options, 1));
    expect(longest).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    expect(longest.map((_, n) => backoffDelay([1, 2, 3, 4, 5, 5_000][n] ?? 0, options, 0))).toEqual(
      longest.map((ms) => ms / 2),
    );
  });

  test("is constant without a maximum", () => {
    expect([1, 2, 9].map((attempt) => backoffDelay(attempt, { initialDelayMs: 50 }, 1))).toEqual([
      50, 50, 50,
    ]);
  });
});

describe("retry", () => {
  test("returns the first result and passes the number of the attempt", async () => {
    const clock = fakeClock();
    expect(await retry(failing(2), { isRetryable, initialDelayMs: 100, ...clock })).toBe(3);
    expect(clock.slept).toEqual([100, 100]);
  });

  test("throws an error that is not retryable immediately", async () => {
    const clock = fakeClock();
    const never = retry(failing(1), { isRetryable: () => false, initialDelayMs: 100, ...clock });
    await expect(never).rejects.toThrow("failure 1");
    expect(clock.slept).toEqual([]);
  });

  test("throws the last error after the last attempt", async () => {
    const clock = fakeClock();
    const work = retry(failing(9), { isRetryable, initialDelayMs: 10, maxAttempts: 3, ...clock });
    await expect(work).rejects.toThrow("failure 3");
    expect(clock.slept).toEqual([10, 10]);
  });

  test("starts no attempt after its time limit, and shortens the last delay", async () => {
    const clock = fakeClock();
    const options = { isRetryable, initialDelayMs: 40, maxDelayMs: 400, timeoutMs: 250 };
    await expect(retry(failing(99), { ...options, ...clock })).rejects.toThrow("failure 4");
    expect(clock.slept).toEqual([40, 80, 130]);
  });

  test("throws the last error when it is aborted, also during a delay", async () => {
    const controller = new AbortController();
    const work = retry(failing(99), {
      isRetryable,
      initialDelayMs: 60_000,
      signal: controller.signal,
      onRetry: () => queueMicrotask(() => controller.abort()),
    });
    await expect(work).rejects.toThrow("failure 1");
    const again = retry(failing(99), { isRetryable, initialDelayMs: 60_000, signal: controller.signal });
    await expect(again).rejects.toThrow("failure 1");
  });

  test("reports each error with the delay that follows it", async () => {
    const reported: string[] = [];
    const onRetry = (error: unknown, delayMs: number): void =>
      void reported.push(`${(error as Error).message} ${delayMs}`);
    await retry(failing(2), { isRetryable, onRetry, initialDelayMs: 1, maxDelayMs: 8, ...fakeClock() });
    expect(reported).toEqual(["failure 1 1", "failure 2 2"]);
  });
});

describe("poll", () => {
  test("returns the first result that is done", async () => {
    const done = poll(async (attempt) => attempt, {
      isDone: async (attempt) => attempt === 3,
      initialDelayMs: 10,
      ...fakeClock(),
    });
    expect(await done).toBe(3);
  });

  test("returns the last result when the time is up", async () => {
    const clock = fakeClock();
    const options = { isDone: () => false, initialDelayMs: 100, timeoutMs: 250 };
    expect(await poll(async (attempt) => attempt, { ...options, ...clock })).toBe(4);
    expect(clock.slept).toEqual([100, 100, 50]);
  });

  test("does not retry errors", async () => {
    const options = { isDone: () => true, initialDelayMs: 10, ...fakeClock() };
    await expect(poll(failing(1), options)).rejects.toThrow("failure 1");
  });
});
