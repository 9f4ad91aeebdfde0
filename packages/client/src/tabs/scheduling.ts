/** When a tab runs what: tasks one after the other, and tasks that repeat. Knows nothing of tabs. */
import type { TabsEnv } from "./types.ts";

/** Runs tasks one after the other: a task that is added while another runs comes after it. Never waits. */
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
  /** Does nothing while it runs. */
  start(): void;
  stop(): void;
}

/** Runs a task again and again, `ms` after it was started or has run last. */
export function createInterval(env: Pick<TabsEnv, "setTimer">, ms: number, task: () => void): Interval {
  let isRunning = false;
  let cancel: (() => void) | null = null;
  const schedule = (): void => {
    cancel = env.setTimer(() => {
      cancel = null;
      task();
      // The task may have stopped it, or started it again.
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
