/** This worker posts frames at a fixed rate, each as its own task, even while the page is busy. */
export interface Paced {
  readonly frames: readonly string[];
  readonly perSecond: number;
}

const LOOK_MS = 4;

onmessage = ({ data: { frames, perSecond } }: MessageEvent<Paced>) => {
  const startedAt = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.min(frames.length, Math.ceil(((performance.now() - startedAt) * perSecond) / 1000));
    while (sent < due) postMessage(frames[sent++]);
    if (sent === frames.length) {
      clearInterval(timer);
      postMessage(null);
    }
  }, LOOK_MS);
};
