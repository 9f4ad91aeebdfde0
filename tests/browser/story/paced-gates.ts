/**
 * `PacedGates` are the gates of a story whose beats can be counted, slowed down and paused. Does not depend on pages.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Gates } from "../../../packages/server/test/stories/story-agents.ts";

export class PacedGates extends Gates {
  /** So small that the shortest story has more than twenty beats. */
  override readonly pieces = { chunk: 2, chunks: 10 };
  beats = 0;
  /** Called at each beat. The story pauses until its promise settles. */
  onBeat: (beat: number) => Promise<void> | undefined = () => undefined;
  paceMs: number | null = null;
  #pause: Promise<void> | undefined;

  override async beat(ms: number): Promise<void> {
    // Parallel parts of the story pause too.
    while (this.#pause !== undefined) await this.#pause;
    const pause = this.onBeat(++this.beats);
    if (pause !== undefined) {
      const over = pause.then(
        () => undefined,
        () => undefined,
      );
      this.#pause = over;
      await over;
      if (this.#pause === over) this.#pause = undefined;
    }
    await sleep(this.paceMs ?? ms);
  }
}
