/**
 * `scheduleTask` runs functions in later tasks, one per task, in order.
 * Invariant: the page handles input between two functions, however many wait.
 */
const waiting = new Set<() => void>();
let timer: ReturnType<typeof setTimeout> | null = null;

/** Runs the function in a later task, after those that wait already. Returns a function that cancels it. */
export function scheduleTask(run: () => void): () => void {
  waiting.add(run);
  timer ??= setTimeout(runNext, 0);
  return () => void waiting.delete(run);
}

function runNext(): void {
  const [next] = waiting;
  timer = waiting.size > 1 ? setTimeout(runNext, 0) : null;
  if (next === undefined) return;
  waiting.delete(next);
  next();
}
