/** `OpenCounter` counts the open sockets, streams and subscriptions of this process. */
import type { ExceededLimit, LimitName, LimitScope } from "../../store/rules/limits.ts";

export interface OpenPoint {
  readonly limit: LimitName;
  readonly scope: LimitScope;
  readonly key: string;
  /** Null for no limit: then it only counts. */
  readonly most: number | null;
}

/**
 * How long a client waits for another connection to close, because the server can't know it. If this process has too
 * many, another one may accept it at once.
 */
const RETRY_MS = 5_000;

export class OpenCounter {
  readonly #counts = new Map<string, number>();

  /**
   * Counts one more open thing in all counters, or in none.
   * @returns the limit that is reached, or a function that counts it as closed. Calling it again does nothing
   */
  open(points: readonly OpenPoint[]): ExceededLimit | (() => void) {
    const reached = points.find(({ key, most }) => most !== null && this.#count(key) >= most);
    if (reached !== undefined) return { limit: reached.limit, scope: reached.scope, retryAfterMs: RETRY_MS };
    for (const { key } of points) this.#counts.set(key, this.#count(key) + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      for (const { key } of points) this.#subtract(key);
    };
  }

  #count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #subtract(key: string): void {
    const count = this.#count(key) - 1;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
  }
}
