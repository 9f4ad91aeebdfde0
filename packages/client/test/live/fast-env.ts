/** Surroundings for tests: time that runs faster, and a machine whose network and screen can be switched off. */
import type { ClientEnv, PageEnv } from "../../src/env.ts";

/** Every wait of a client is that much shorter, and its clock that much faster. */
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

/** Only what is waited for between two attempts is shorter. */
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
