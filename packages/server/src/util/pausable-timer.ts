/**
 * `PausableTimer` is a timeout that does not elapse while it is paused.
 * Invariant: pauses are counted: it continues after as many `resume` calls as `pause` calls. After `stop` it does not
 * fire. A time above `MAX_TIMER_MS` elapses at `MAX_TIMER_MS`. `onEnd` must tolerate a second call, because a pause
 * and resume after the end fires it again.
 */
import { MAX_TIMER_MS } from "./sleep.ts";

export class PausableTimer {
  #leftMs = Infinity;
  #since = 0;
  #pauses = 0;
  #timer: NodeJS.Timeout | null = null;
  #onEnd: () => void = () => {};

  start(leftMs: number, onEnd: () => void): void {
    this.#leftMs = leftMs;
    this.#onEnd = onEnd;
    this.#run();
  }

  pause(): void {
    if (this.#pauses++ === 0) this.#halt();
  }

  resume(): void {
    if (--this.#pauses === 0) this.#run();
  }

  stop(): void {
    this.#halt();
    this.#leftMs = Infinity;
  }

  #run(): void {
    if (this.#pauses > 0 || this.#leftMs === Infinity || this.#timer !== null) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#onEnd, Math.min(this.#leftMs, MAX_TIMER_MS));
  }

  #halt(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#since));
  }
}
