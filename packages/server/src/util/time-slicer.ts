/**
 * `createTimeSlicer` runs queued tasks in short slices, and lets the event loop run between the slices.
 * Invariant: tasks run in the order of their calls and never inside `run` itself. After 8 ms the event loop runs
 * before the next task. A task is not interrupted, so it must be short. All sessions of a gateway share one slicer, so
 * that many long jobs block the event loop no longer than one. An error rejects only its own task.
 */

/** How long tasks may run in a row, in milliseconds. */
const SLICE_MS = 8;

export interface TimeSlicer {
  /** Queues one task. The task itself must be short, because it is not interrupted. */
  readonly run: <T>(task: () => T) => Promise<T>;
}

export function createTimeSlicer(now: () => number = () => performance.now()): TimeSlicer {
  let queue: (() => void)[] = [];
  let isScheduled = false;

  function runSlice(): void {
    const startedAt = now();
    let n = 0;
    while (n < queue.length && now() - startedAt < SLICE_MS) (queue[n++] as () => void)();
    queue = queue.slice(n);
    if (queue.length > 0) setImmediate(runSlice);
    else isScheduled = false;
  }

  return {
    run: (task) =>
      new Promise((resolve, reject) => {
        queue.push(() => {
          try {
            resolve(task());
          } catch (error) {
            reject(error);
          }
        });
        if (isScheduled) return;
        isScheduled = true;
        setImmediate(runSlice);
      }),
  };
}
