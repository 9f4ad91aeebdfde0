/** Who waits for a person in this process, by session, so that a decision finds them at once. Never asks the store. */
export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>();

  get size(): number {
    return this.#waiting.size;
  }

  wake(session: string): void {
    for (const wake of this.#waiting.get(session) ?? []) wake();
  }

  /** Fulfilled when somebody has decided something in the session, or after a while; throws the signal's reason. */
  wait(session: string, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const waiting = this.#waiting.get(session) ?? new Set();
      this.#waiting.set(session, waiting);
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(session) === waiting) this.#waiting.delete(session);
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
      waiting.add(wake);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
