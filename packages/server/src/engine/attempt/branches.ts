/**
 * `Branches` counts the branches of an attempt and those that wait for a user, and reports when all have waited for a
 * while. It does not end the attempt.
 *
 * Invariant: a branch that awaits its own branches isn't counted, so the attempt is idle exactly if every counted branch
 * waits. Any other change restarts the time. A wait doesn't end before the report has: a branch must not continue while its
 * turn leaves the process.
 */
import type { Interaction } from "../../store/interactions.ts";

export class Branches {
  readonly #waiting = new Set<Interaction>();
  #count = 1;
  #onIdle: { readonly afterMs: number; readonly report: () => Promise<void> } | null = null;
  #timer: NodeJS.Timeout | null = null;
  #reporting: Promise<void> = Promise.resolve();

  /** The interactions that branches wait for. */
  get waiting(): readonly Interaction[] {
    return [...this.#waiting];
  }

  /** Calls `report` once, when all branches have waited for `afterMs`. It must not throw. */
  onIdle(afterMs: number, report: () => Promise<void>): void {
    this.#onIdle = { afterMs, report };
    this.#changed();
  }

  /** Runs a further branch beside the current one. */
  async run<T>(branch: () => Promise<T>): Promise<T> {
    this.#add(1);
    try {
      return await branch();
    } finally {
      this.#add(-1);
    }
  }

  /** Runs work in which the current branch only awaits branches that it starts. */
  async join<T>(branches: () => Promise<T>): Promise<T> {
    this.#add(-1);
    try {
      return await branches();
    } finally {
      this.#add(1);
    }
  }

  /** Runs work in which the current branch waits for a decision of the user. */
  async wait<T>(pending: Interaction, wait: () => Promise<T>): Promise<T> {
    this.#waiting.add(pending);
    this.#changed();
    try {
      return await wait();
    } finally {
      await this.#reporting;
      this.#waiting.delete(pending);
      this.#changed();
    }
  }

  /** Reports nothing any more. */
  close(): void {
    this.#onIdle = null;
    this.#changed();
  }

  #add(branches: number): void {
    this.#count += branches;
    this.#changed();
  }

  #changed(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#onIdle === null || this.#waiting.size === 0 || this.#waiting.size !== this.#count) return;
    const { afterMs, report } = this.#onIdle;
    this.#timer = setTimeout(() => {
      this.#onIdle = null;
      this.#reporting = report();
    }, afterMs);
  }
}
