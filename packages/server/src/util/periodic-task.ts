/**
 * `PeriodicTask` runs a task periodically. `start` is called once.
 * Invariant: runs are never concurrent: the next interval starts when the run has ended, also after an error. Each
 * interval varies by up to 25 %, so that processes that started together do not stay synchronized. After `stop` no run
 * starts and no error is reported; a running one is not interrupted.
 */
import type { Env } from "./env.ts";

export class PeriodicTask {
  readonly #everyMs: number;
  readonly #env: Pick<Env, "randomBytes">;
  readonly #onError: (error: unknown) => void;
  readonly #work: () => Promise<void>;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(
    everyMs: number,
    env: Pick<Env, "randomBytes">,
    onError: (error: unknown) => void,
    work: () => Promise<void>,
  ) {
    this.#everyMs = everyMs;
    this.#env = env;
    this.#onError = onError;
    this.#work = work;
  }

  start(): void {
    if (this.#isOver) return;
    const chance = (this.#env.randomBytes(1)[0] ?? 0) / 256;
    this.#timer = setTimeout(() => void this.#once(), this.#everyMs * (0.75 + chance / 2));
  }

  stop(): void {
    this.#isOver = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #once(): Promise<void> {
    try {
      await this.#work();
    } catch (error) {
      if (!this.#isOver) this.#onError(error);
    }
    this.start();
  }
}
