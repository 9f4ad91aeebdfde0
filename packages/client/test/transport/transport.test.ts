/** That whoever gives a command is answered, even where nothing is. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { impatientLink } from "../../src/transport/transport.ts";
import { surroundings } from "../../src/env.ts";
import { ClientError } from "../../src/errors.ts";
import { FakeLink } from "../session/fake-transport.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const STOP = { type: "stop", session_id: "s" } as const;

test("a command that nothing answers is unsure after a minute, and may be tried again", async () => {
  const silent = new FakeLink();
  silent.command = () => new Promise(() => {});
  const told = vi.fn<(error: unknown) => void>();
  impatientLink(silent, surroundings()).command(STOP).catch(told);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(told).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(told).toHaveBeenCalledWith(expect.objectContaining({ code: "UNSURE", canRetry: true }));
});

test("answers and refusals pass as they are, and leave no timer", async () => {
  const link = new FakeLink();
  const impatient = impatientLink(link, surroundings());
  await expect(impatient.command(STOP)).resolves.toEqual({});
  const refused = new ClientError("CONFLICT", "It was decided already.");
  link.command = () => Promise.reject(refused);
  await expect(impatient.command(STOP)).rejects.toBe(refused);
  expect(vi.getTimerCount()).toBe(0);
});
