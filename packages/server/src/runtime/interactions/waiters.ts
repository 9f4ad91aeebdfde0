/** Who waits for a person in this process, by session, so that a decision finds them at once. Never asks the store. */
import { pause } from "../pause.ts";

export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>();

  wake(session: string): void {
    for (const wake of this.#waiting.get(session) ?? []) wake();
  }

  /** Fulfilled when somebody has decided something in the session, or after a while; throws the signal's reason. */
  wait(session: string, ms: number, signal: AbortSignal): Promise<void> {
    return pause(ms, signal, (wake) => {
      const waiting = this.#waiting.get(session) ?? new Set();
      this.#waiting.set(session, waiting.add(wake));
      return () => {
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(session) === waiting) this.#waiting.delete(session);
      };
    });
  }
}
