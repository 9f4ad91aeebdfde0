/** `nextMillisecond` waits until the clock shows a later millisecond, because times of rows are no finer. */
import { vi } from "vitest";
import { systemEnv } from "../src/util/env.ts";

export async function nextMillisecond(): Promise<void> {
  const at = systemEnv.now();
  await vi.waitUntil(() => systemEnv.now() > at, { interval: 1 });
}
