/** `until` polls a condition that has no notification. It always ends: with a `timed_out` error at the latest. */
import { setTimeout as sleep } from "node:timers/promises";

import { ServiceError } from "../servers/service-error.ts";

export interface PollOptions {
  /** A busy machine may take a minute to start a process. @default 120,000 */
  timeoutMs?: number;
  /** @default 10 */
  everyMs?: number;
}

/** `what` completes the sentence "waited 120 s for …". */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  options: PollOptions = {},
): Promise<void> {
  const { timeoutMs = 120_000, everyMs = 10 } = options;
  const deadline = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) {
      throw new ServiceError("timed_out", `waited ${timeoutMs / 1000} s for ${what}`);
    }
    await sleep(everyMs);
  }
}
