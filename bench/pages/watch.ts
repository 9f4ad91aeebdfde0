/**
 * `watchSmoothness` records what a page can measure itself while an answer streams: commits, long tasks and dropped
 * frames.
 */

const FRAME_MS = 1000 / 60;

export interface Smoothness {
  /** The render time of each commit in milliseconds. */
  readonly commits: readonly number[];
  /** The duration of each task over 50 ms, in milliseconds. */
  readonly longTasks: readonly number[];
  readonly droppedFrames: number;
}

const commits: number[] = [];

/** The callback for React's `<Profiler>`. */
export function onCommit(_id: string, _phase: string, actualMs: number): void {
  commits.push(actualMs);
}

export function watchSmoothness(): () => Smoothness {
  commits.length = 0;
  const longTasks: number[] = [];
  const take = (entries: readonly PerformanceEntry[]): void => {
    for (const { duration } of entries) longTasks.push(duration);
  };
  const observer = new PerformanceObserver((list) => take(list.getEntries()));
  observer.observe({ type: "longtask" });
  let droppedFrames = 0;
  let last = performance.now();
  let frame = requestAnimationFrame(function drawn(now) {
    droppedFrames += Math.max(0, Math.round((now - last) / FRAME_MS) - 1);
    last = now;
    frame = requestAnimationFrame(drawn);
  });
  return () => {
    cancelAnimationFrame(frame);
    take(observer.takeRecords());
    observer.disconnect();
    return { commits: [...commits], longTasks, droppedFrames };
  };
}
