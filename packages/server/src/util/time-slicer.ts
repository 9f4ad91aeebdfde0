/**
 * Long work in small pieces: what may take a while is done piece by piece, in the order in which it was asked for, and
 * the event loop gets its turn in between. One for the whole process, so that many at once are as polite as one.
 */

/** How long pieces may follow each other, in milliseconds. */
const SLICE_MS = 8;

export interface TimeSlicer {
  /** One piece: short by itself. */
  readonly run: <T>(piece: () => T) => Promise<T>;
}

export function createTimeSlicer(now: () => number = () => performance.now()): TimeSlicer {
  let queue: (() => void)[] = [];
  let isScheduled = false;

  function work(): void {
    const began = now();
    let n = 0;
    while (n < queue.length && now() - began < SLICE_MS) (queue[n++] as () => void)();
    queue = queue.slice(n);
    if (queue.length > 0) setImmediate(work);
    else isScheduled = false;
  }

  return {
    run: (piece) =>
      new Promise((resolve, reject) => {
        queue.push(() => {
          try {
            resolve(piece());
          } catch (error) {
            reject(error);
          }
        });
        if (isScheduled) return;
        isScheduled = true;
        setImmediate(work);
      }),
  };
}
