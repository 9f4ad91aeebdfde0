/** How long things take: as in life, or faster for tests. Waiting ends at once when somebody stops the turn. */
import { setTimeout as sleep } from "node:timers/promises";

export interface Pace {
  /** 1 as in life, 4 for four times as fast. */
  readonly speed: number;
  /** Rejects when the signal is aborted. */
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
