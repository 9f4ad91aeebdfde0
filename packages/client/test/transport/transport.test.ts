/** Tests `withCommandTimeout`: every command settles, even without a reply. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withCommandTimeout } from "../../src/transport/transport.ts";
import { createEnv } from "../../src/env.ts";
import { ClientError } from "../../src/errors.ts";
import { FakeTransport } from "../session/fake-transport.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const STOP = { type: "stop", session_id: "s" } as const;

test("a command without a reply fails with UNSURE after a minute and can be retried", async () => {
  const silent = new FakeTransport();
  silent.command = () => new Promise(() => {});
  const outcomes = vi.fn<(error: unknown) => void>();
  withCommandTimeout(silent, createEnv()).command(STOP).catch(outcomes);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(outcomes).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(outcomes).toHaveBeenCalledWith(expect.objectContaining({ code: "UNSURE", canRetry: true }));
});

test("replies and errors pass unchanged and leave no timer", async () => {
  const transport = new FakeTransport();
  const impatient = withCommandTimeout(transport, createEnv());
  await expect(impatient.command(STOP)).resolves.toEqual({});
  const refused = new ClientError("CONFLICT", "It was decided already.");
  transport.command = () => Promise.reject(refused);
  await expect(impatient.command(STOP)).rejects.toBe(refused);
  expect(vi.getTimerCount()).toBe(0);
});
