/**
 * `createSerialQueue` runs tasks one after the other, and `createInterval` runs a task periodically. Both are
 * independent of tabs.
 * Invariant: tasks of a queue run synchronously, in the order of their addition, and never inside each other. An
 * interval never overlaps itself, and its task may stop or restart it.
 */
import type { TabsEnv } from "./types.ts";

/** Runs tasks one after the other. A task that is added while another runs starts after it. Synchronous. */
export function createSerialQueue(): (task: () => void) => void {
  const queue: (() => void)[] = [];
  let isBusy = false;
  return (task) => {
    queue.push(task);
    if (isBusy) return;
    isBusy = true;
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) next();
    } finally {
      isBusy = false;
    }
  };
}

export interface Interval {
  /** Does nothing if it is already running. */
  start(): void;
  stop(): void;
}

/** Runs a task every `ms` milliseconds, measured from the start or the end of the last run. */
export function createInterval(env: Pick<TabsEnv, "setTimer">, ms: number, task: () => void): Interval {
  let isRunning = false;
  let cancel: (() => void) | null = null;
  const schedule = (): void => {
    cancel = env.setTimer(() => {
      cancel = null;
      task();
      // The task may have stopped the interval, or restarted it.
      if (isRunning && cancel === null) schedule();
    }, ms);
  };
  return {
    start() {
      if (isRunning) return;
      isRunning = true;
      schedule();
    },
    stop() {
      isRunning = false;
      cancel?.();
      cancel = null;
    },
  };
}
