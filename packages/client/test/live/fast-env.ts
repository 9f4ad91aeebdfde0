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

interface JumpTimer {
  readonly at: number;
  readonly run: () => void;
  readonly real: NodeJS.Timeout;
}

/** The time of this machine, which a test can move forward: `jump` runs every timer on the way. */
export class JumpClock implements Pick<ClientEnv, "now" | "setTimer"> {
  #ahead = 0;
  readonly #timers = new Set<JumpTimer>();

  readonly now = (): number => Date.now() + this.#ahead;

  readonly setTimer = (run: () => void, ms: number): (() => void) => {
    const timer: JumpTimer = { at: this.now() + ms, run, real: setTimeout(() => this.#fire(timer), ms) };
    this.#timers.add(timer);
    return () => this.#cancel(timer);
  };

  jump(ms: number): void {
    const until = this.now() + ms;
    while (true) {
      const [next] = [...this.#timers].toSorted((a, b) => a.at - b.at);
      if (next === undefined || next.at > until) break;
      this.#ahead += Math.max(0, next.at - this.now());
      this.#fire(next);
    }
    this.#ahead += Math.max(0, until - this.now());
  }

  #fire(timer: JumpTimer): void {
    this.#cancel(timer);
    timer.run();
  }

  #cancel(timer: JumpTimer): void {
    clearTimeout(timer.real);
    this.#timers.delete(timer);
  }
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
  #isFrozen = false;
  /** Whether the browser has no limit of event streams. */
  hasHttp2 = true;
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

  isFrozen(): boolean {
    return this.#isFrozen;
  }

  isMultiplexed(): boolean {
    return this.hasHttp2;
  }

  onChange(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  onStorage(_changed: (entry: string | null) => void): () => void {
    return () => {};
  }

  become({ isOnline = this.#isOnline, isHidden = this.#isHidden, isFrozen = this.#isFrozen }): void {
    this.#isOnline = isOnline;
    this.#isHidden = isHidden;
    this.#isFrozen = isFrozen;
    for (const listener of this.#listeners) listener();
  }
}
