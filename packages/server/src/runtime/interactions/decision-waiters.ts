/**
 * `DecisionWaiters` tracks the branches of this process that wait for a decision, by session, so that a signal wakes
 * them. It does not read the store.
 *
 * Invariant: a wake after `markChecked` is never lost: the next `wait` returns immediately. A wake carries no decision,
 * so the branch must read the store. A closed waiter leaves no entry.
 */
import type { DecisionWaiter, DecisionWaiterRegistry } from "../attempt/context.ts";
import { type SessionRef, sessionKey } from "../../util/refs.ts";
import { sleep } from "../../util/sleep.ts";

export class DecisionWaiters implements DecisionWaiterRegistry {
  /** By `sessionKey`. */
  readonly #waiting = new Map<string, Set<Waiter>>();

  wake(ref: SessionRef): void {
    for (const waiter of this.#waiting.get(sessionKey(ref)) ?? []) waiter.wake();
  }

  open(ref: SessionRef): DecisionWaiter {
    const key = sessionKey(ref);
    const waiting = this.#waiting.get(key) ?? new Set();
    const waiter = new Waiter(() => {
      waiting.delete(waiter);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    });
    this.#waiting.set(key, waiting.add(waiter));
    return waiter;
  }
}

class Waiter implements DecisionWaiter {
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

  markChecked(): void {
    this.#isWoken = false;
  }

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
