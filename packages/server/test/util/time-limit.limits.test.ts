/** Tests that `runWithTimeLimit` runs work again that only the machine made slow. It measures CPU time. */
import { describe, expect, test } from "vitest";
import { runWithTimeLimit } from "../../src/util/time-limit.ts";

/** So long that a busy machine runs a process at least once in this time. */
const LIMIT_MS = 50;

function burn(): never {
  for (let n = 0; ; n++) Math.sqrt(n);
}

/** Waits without using the CPU, like a process that the machine has stopped. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe("runWithTimeLimit", () => {
  test("runs work again that used no time, up to ten times", () => {
    let tries = 0;
    const wait = (): void => {
      tries++;
      stall(60_000);
    };
    expect(() => runWithTimeLimit(LIMIT_MS, wait)).toThrow(/timed out/);
    expect(tries).toBe(10);
  });

  test.each([
    ["used all its time in the first try, to compile its code", 1, burn],
    ["was stopped five times by the machine", 5, () => stall(60_000)],
  ])("returns the result of work that %s", (_, slowTries, delay) => {
    let tries = 0;
    const work = (): string => {
      tries++;
      if (tries <= slowTries) delay();
      return "done";
    };
    expect(runWithTimeLimit(LIMIT_MS, work)).toBe("done");
    expect(tries).toBeGreaterThan(slowTries);
  });
});
