/**
 * `createPace` controls how long simulated work takes: at normal speed, or faster for tests. A stop of the turn ends
 * the wait immediately.
 */
import { setTimeout as sleep } from "node:timers/promises";

export interface Pace {
  /** 1 for normal speed, 4 for four times as fast. */
  readonly speed: number;
  /** Rejects when the signal aborts. */
  work(ms: number, signal: AbortSignal): Promise<void>;
}

export function createPace(speed: number): Pace {
  return {
    speed,
    async work(ms, signal) {
      await sleep(ms / speed, undefined, { signal });
    },
  };
}
