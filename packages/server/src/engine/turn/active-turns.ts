/**
 * `ActiveTurns` tracks the turns of this process, so that a stop request finds them during an attempt and between
 * attempts.
 *
 * Invariant: a session has at most one attempt or pause here. `stop` acts only on the named turn. An attempt or pause
 * that ends removes only itself, never its successor.
 */
import type { TurnAttempt } from "../attempt/attempt.ts";
import { StopRequested } from "../attempt/outcomes.ts";
import { type SessionRef, sessionKey } from "../../util/refs.ts";
import { untilAborted } from "../../util/concurrency.ts";
import { sleep } from "../../util/sleep.ts";

interface TurnRef extends SessionRef {
  readonly turn: string;
}

export class ActiveTurns {
  /** By `sessionKey`, like `#pauses`. */
  readonly #attempts = new Map<string, TurnAttempt>();
  readonly #pauses = new Map<string, { readonly turn: string; readonly wake: () => void }>();

  add(attempt: TurnAttempt): void {
    this.#attempts.set(sessionKey(attempt.ref), attempt);
  }

  delete(attempt: TurnAttempt): void {
    const key = sessionKey(attempt.ref);
    if (this.#attempts.get(key) === attempt) this.#attempts.delete(key);
  }

  get size(): number {
    return this.#attempts.size + this.#pauses.size;
  }

  has(ref: SessionRef): boolean {
    const key = sessionKey(ref);
    return this.#attempts.has(key) || this.#pauses.has(key);
  }

  /** Resolves when all attempts that run now have ended. */
  async untilEnded(): Promise<void> {
    await Promise.allSettled([...this.#attempts.values()].map(({ signal }) => untilAborted(signal)));
  }

  stop(ref: TurnRef, by: string | null): void {
    const key = sessionKey(ref);
    const attempt = this.#attempts.get(key);
    if (attempt?.row.turn === ref.turn) attempt.abort(new StopRequested(by));
    const paused = this.#pauses.get(key);
    if (paused?.turn === ref.turn) paused.wake();
  }

  /** Waits before the next attempt. A stop request ends the wait, and the next attempt then ends the turn. */
  pause(ref: TurnRef, ms: number, signal: AbortSignal): Promise<void> {
    const key = sessionKey(ref);
    const registerWake = (wake: () => void) => {
      const paused = { turn: ref.turn, wake };
      this.#pauses.set(key, paused);
      return () => {
        if (this.#pauses.get(key) === paused) this.#pauses.delete(key);
      };
    };
    return sleep(ms, { signal, registerWake });
  }
}
