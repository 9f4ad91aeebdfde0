/**
 * `createTimeSlicer` runs queued tasks in short slices, and lets the event loop run between the slices.
 * Invariant: tenants and their users take turns, and the tasks of one user run in the order of their calls. No task
 * runs inside `run` itself. After 2 ms the event loop runs before the next task. A task is not interrupted, so it must
 * be short. All sessions of a gateway share one slicer, so that many long jobs block the event loop no longer than one.
 * An error rejects only its own task.
 */
import { FairQueue } from "./fair-queue.ts";
import { currentOwner } from "./work-owner.ts";

/**
 * How long tasks may run in a row, in milliseconds. A request needs dozens of turns of the event loop, each of which
 * may wait for a slice.
 */
const SLICE_MS = 2;

export interface TimeSlicer {
  /** Queues one task. The task itself must be short, because it is not interrupted. */
  readonly run: <T>(task: () => T) => Promise<T>;
}

export function createTimeSlicer(now: () => number = () => performance.now()): TimeSlicer {
  const queue = new FairQueue<() => void>(1);
  let isScheduled = false;

  function runSlice(): void {
    const startedAt = now();
    do {
      const next = queue.take(startedAt);
      if (next === null) break;
      next.item();
      queue.end(next, startedAt);
    } while (now() - startedAt < SLICE_MS);
    if (queue.waiting > 0) setImmediate(runSlice);
    else isScheduled = false;
  }

  return {
    run: (task) =>
      new Promise((resolve, reject) => {
        const settle = (): void => {
          try {
            resolve(task());
          } catch (error) {
            reject(error);
          }
        };
        queue.add(currentOwner(), settle, now());
        if (isScheduled) return;
        isScheduled = true;
        setImmediate(runSlice);
      }),
  };
}
