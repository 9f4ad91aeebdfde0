/** The turns that are at work in this process, so that a stop finds them: in an attempt, or waiting for the next one. */
import type { Attempt } from "./attempt.ts";
import type { TurnRef } from "./job-id.ts";
import { StopRequested } from "./outcomes.ts";

export class RunningHere {
  readonly #attempts = new Map<string, Attempt>();
  readonly #pauses = new Map<string, { readonly turn: string; readonly wake: () => void }>();

  add(attempt: Attempt): void {
    this.#attempts.set(attempt.ref.session, attempt);
  }

  delete(attempt: Attempt): void {
    if (this.#attempts.get(attempt.ref.session) === attempt) this.#attempts.delete(attempt.ref.session);
  }

  get size(): number {
    return this.#attempts.size + this.#pauses.size;
  }

  has(session: string): boolean {
    return this.#attempts.has(session) || this.#pauses.has(session);
  }

  stop(session: string, turn: string, by: string | null): void {
    const attempt = this.#attempts.get(session);
    if (attempt?.row.turn === turn) attempt.abort(new StopRequested(by));
    const pause = this.#pauses.get(session);
    if (pause?.turn === turn) pause.wake();
  }

  /** Waits before the next attempt, which begins at once when somebody stops the turn: it will then end it. */
  pause({ session, turn }: TurnRef, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
        if (this.#pauses.get(session) === pause) this.#pauses.delete(session);
      };
      const wake = (): void => {
        end();
        resolve();
      };
      const leave = (): void => {
        end();
        reject(signal.reason as Error);
      };
      const timer = setTimeout(wake, ms);
      const pause = { turn, wake };
      this.#pauses.set(session, pause);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
