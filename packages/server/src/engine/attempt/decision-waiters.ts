/**
 * `DecisionWaiters` tracks the branches of this process that wait for a decision, by session, so that a signal wakes
 * them. It does not read the store.
 *
 * Invariant: a wake after `markChecked` is never lost: the next `wait` returns immediately. A wake carries no decision,
 * so the branch must read the store. A closed waiter leaves no entry.
 */
import { type SessionRef, sessionKey } from "../../util/refs.ts";
import { sleep } from "../../util/sleep.ts";

export class DecisionWaiters {
  /** By `sessionKey`. */
  readonly #waiting = new Map<string, Set<DecisionWaiter>>();

  wake(ref: SessionRef): void {
    for (const waiter of this.#waiting.get(sessionKey(ref)) ?? []) waiter.wake();
  }

  /** Starts to wait for decisions in a session. */
  open(ref: SessionRef): DecisionWaiter {
    const key = sessionKey(ref);
    const waiting = this.#waiting.get(key) ?? new Set();
    const waiter = new DecisionWaiter(() => {
      waiting.delete(waiter);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    });
    this.#waiting.set(key, waiting.add(waiter));
    return waiter;
  }
}

/** A branch of a turn that waits for a decision. */
export class DecisionWaiter {
  readonly close: () => void;
  #isWoken = false;
  #resolve: (() => void) | null = null;

  constructor(close: () => void) {
    this.close = close;
  }

  wake(): void {
    this.#isWoken = true;
    this.#resolve?.();
  }

  /** Call this before reading the store. A decision that arrives during the read then ends the next wait immediately. */
  markChecked(): void {
    this.#isWoken = false;
  }

  /** Resolves on the next decision in the session, or after `ms`. Throws the signal's reason if it is aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isWoken) return;
    const registerWake = (wake: () => void) => {
      this.#resolve = wake;
      return () => {
        this.#resolve = null;
      };
    };
    await sleep(ms, { signal, registerWake });
  }
}
