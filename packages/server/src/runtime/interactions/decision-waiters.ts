/** Who waits for a person in this process, by session, so that a decision finds them at once. Never asks the store. */
import { sleep } from "../../util/sleep.ts";

export class DecisionWaiters {
  readonly #waiting = new Map<string, Set<Waiter>>();

  wake(session: string): void {
    for (const waiter of this.#waiting.get(session) ?? []) waiter.wake();
  }

  /** From now on it hears of the session, until it leaves. */
  enter(session: string): Waiter {
    const waiting = this.#waiting.get(session) ?? new Set();
    const waiter = new Waiter(() => {
      waiting.delete(waiter);
      if (waiting.size === 0 && this.#waiting.get(session) === waiting) this.#waiting.delete(session);
    });
    this.#waiting.set(session, waiting.add(waiter));
    return waiter;
  }
}

class Waiter {
  readonly leave: () => void;
  #isWoken = false;
  #go: (() => void) | null = null;

  constructor(leave: () => void) {
    this.leave = leave;
  }

  wake(): void {
    this.#isWoken = true;
    this.#go?.();
  }

  /** Called before the store is asked: what is decided while it answers is not missed. */
  look(): void {
    this.#isWoken = false;
  }

  /** Fulfilled when somebody has decided something since the last look, or after a while; throws the signal's reason. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isWoken) return;
    const registerWake = (wake: () => void) => {
      this.#go = wake;
      return () => {
        this.#go = null;
      };
    };
    await sleep(ms, { signal, registerWake });
  }
}
