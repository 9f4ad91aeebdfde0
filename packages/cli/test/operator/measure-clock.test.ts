/** Tests that `measureClock` ignores tries during which a process stood still. */
import { expect, test } from "vitest";
import { measureClock } from "../../src/operator/measure-clock.ts";

const AHEAD_MS = 7_000;

test.each([0, 2, 4])("only try %i is fast", async (fast) => {
  let time = 1_000_000;
  let tries = 0;
  const readClock = async (): Promise<number> => {
    // A slow request reaches the server late, and its answer returns at once.
    const [thereMs, backMs] = tries++ === fast ? [2, 2] : [3_000, 0];
    time += thereMs;
    const serverTime = time + AHEAD_MS;
    time += backMs;
    return serverTime;
  };
  expect(await measureClock(readClock, () => time)).toBe(AHEAD_MS);
  expect(tries).toBe(5);
});
