/** Tests `withTimeout`, also in a process whose event loop is blocked for a while. */
import { expect, onTestFinished, test, vi } from "vitest";
import { withTimeout } from "../../../src/log/redis/connection/with-timeout.ts";

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("accepts a result that arrived while the event loop was blocked", async () => {
  // Arrives with the first poll of the network after that, as a response does.
  const answer = new Promise((resolve) => setImmediate(() => setImmediate(resolve, "there")));
  const waiting = withTimeout(answer, { ms: 100, message: "No answer" });
  standStill(200);
  expect(await waiting).toBe("there");
});

test("rejects with its message, and not before the timeout", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const never = new Promise(() => undefined);
  let message = "";
  withTimeout(never, { ms: 40, message: "No answer", keepAlive: true }).catch((error: unknown) => {
    message = String(error);
  });
  await vi.advanceTimersByTimeAsync(39);
  expect(message).toBe("");
  await vi.advanceTimersByTimeAsync(1);
  vi.useRealTimers();
  await expect.poll(() => message).toContain("No answer in 40 ms");
});
