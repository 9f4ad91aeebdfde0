/** Client environments for tests: faster time, and `FakePageEnv`, whose network and visibility the test controls. */
import type { ClientEnv, PageEnv } from "../../src/env.ts";

/** Makes the client's clock and all its timers faster by the factor `speed`. */
export function fastTime(speed: number): Pick<ClientEnv, "now" | "setTimer"> {
  const start = Date.now();
  return {
    now: () => Math.round(start + (Date.now() - start) * speed),
    setTimer(run, ms) {
      const timer = setTimeout(run, ms / speed);
      return () => clearTimeout(timer);
    },
  };
}

/** Shortens only timers of at most 15 seconds, such as the backoff between two attempts. */
export const shortWaits: Pick<ClientEnv, "setTimer" | "random"> = {
  random: () => 0,
  setTimer(run, ms) {
    const timer = setTimeout(run, ms <= 15_000 ? ms / 20 : ms);
    return () => clearTimeout(timer);
  },
};

export class FakePageEnv implements PageEnv {
  readonly isPage: boolean;
  #isOnline = true;
  #isHidden = false;
  readonly #listeners = new Set<() => void>();

  constructor(isPage = false) {
    this.isPage = isPage;
  }

  isOnline(): boolean {
    return this.#isOnline;
  }

  isHidden(): boolean {
    return this.#isHidden;
  }

  onChange(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  become({ isOnline = this.#isOnline, isHidden = this.#isHidden }): void {
    this.#isOnline = isOnline;
    this.#isHidden = isHidden;
    for (const listener of this.#listeners) listener();
  }
}
