/** Tests `withTimeout`, also in a process whose event loop is blocked for a while. */
import { expect, test } from "vitest";
import { withTimeout } from "../../../src/log/redis/connection/with-timeout.ts";

function standStill(ms: number): void {
  const since = performance.now();
  while (performance.now() - since < ms);
}

test("accepts a result that arrived while the event loop was blocked", async () => {
  // Arrives with the first poll of the network after that, as a response does.
  const answer = new Promise((resolve) => setImmediate(() => setImmediate(resolve, "there")));
  const waiting = withTimeout(answer, { ms: 2_000, message: "No answer" });
  standStill(2_100);
  expect(await waiting).toBe("there");
});

test("rejects with its message, and not before the timeout", async () => {
  const since = performance.now();
  const never = new Promise(() => undefined);
  await expect(withTimeout(never, { ms: 40, message: "No answer", keepAlive: true })).rejects.toThrow(
    "No answer in 40 ms",
  );
  expect(performance.now() - since).toBeGreaterThan(38);
});
