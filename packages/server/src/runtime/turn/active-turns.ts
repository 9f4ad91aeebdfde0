/**
 * `ActiveTurns` tracks the turns of this process, so that a stop request finds them during an attempt and between
 * attempts.
 *
 * Invariant: a session has at most one attempt or pause here. `stop` acts only on the named turn. An attempt or pause
 * that ends removes only itself, never its successor.
 */
import type { TurnAttempt } from "../attempt/attempt.ts";
import type { TurnRef } from "../attempt/job-id.ts";
import { StopRequested } from "../attempt/outcomes.ts";
import { sleep } from "../../util/sleep.ts";

export class ActiveTurns {
  readonly #attempts = new Map<string, TurnAttempt>();
  readonly #pauses = new Map<string, { readonly turn: string; readonly wake: () => void }>();

  add(attempt: TurnAttempt): void {
    this.#attempts.set(attempt.ref.session, attempt);
  }

  delete(attempt: TurnAttempt): void {
    if (this.#attempts.get(attempt.ref.session) === attempt) this.#attempts.delete(attempt.ref.session);
  }

  get size(): number {
    return this.#attempts.size + this.#pauses.size;
  }

  has(session: string): boolean {
    return this.#attempts.has(session) || this.#pauses.has(session);
  }

  /** Resolves when all attempts that run now have ended. */
  async untilEnded(): Promise<void> {
    const ends = [...this.#attempts.values()].map(
      ({ signal }) =>
        new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          else signal.addEventListener("abort", () => resolve(), { once: true });
        }),
    );
    await Promise.all(ends);
  }

  stop(session: string, turn: string, by: string | null): void {
    const attempt = this.#attempts.get(session);
    if (attempt?.row.turn === turn) attempt.abort(new StopRequested(by));
    const paused = this.#pauses.get(session);
    if (paused?.turn === turn) paused.wake();
  }

  /** Waits before the next attempt. A stop request ends the wait, and the next attempt then ends the turn. */
  pause({ session, turn }: TurnRef, ms: number, signal: AbortSignal): Promise<void> {
    const registerWake = (wake: () => void) => {
      const paused = { turn, wake };
      this.#pauses.set(session, paused);
      return () => {
        if (this.#pauses.get(session) === paused) this.#pauses.delete(session);
      };
    };
    return sleep(ms, { signal, registerWake });
  }
}
