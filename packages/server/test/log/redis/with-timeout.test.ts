/** Waiting with an end, in a process that stands still for a while. */
import { expect, test } from "vitest";
import { withTimeout } from "../../../src/log/redis/connection/with-timeout.ts";

function standStill(ms: number): void {
  const since = performance.now();
  while (performance.now() - since < ms);
}

test("what came while the process stood still counts as come in time", async () => {
  // Comes with the first look at the network after that, as an answer does.
  const answer = new Promise((resolve) => setImmediate(() => setImmediate(resolve, "there")));
  const waiting = withTimeout(answer, { ms: 2_000, message: "No answer" });
  standStill(2_100);
  expect(await waiting).toBe("there");
});

test("what never comes ends with words, and not before its time", async () => {
  const since = performance.now();
  const never = new Promise(() => undefined);
  await expect(withTimeout(never, { ms: 40, message: "No answer", keepAlive: true })).rejects.toThrow(
    "No answer in 40 ms",
  );
  expect(performance.now() - since).toBeGreaterThan(38);
});
