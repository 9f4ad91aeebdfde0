/**
 * `createTimeSlicer` runs long work in short tasks, in the order in which they were added, and lets the event loop run in
 * between. One for the whole process, so that many at once block it no longer than one.
 */

/** How long tasks may run in a row, in milliseconds. */
const SLICE_MS = 8;

export interface TimeSlicer {
  /** Runs one task: short by itself. */
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
