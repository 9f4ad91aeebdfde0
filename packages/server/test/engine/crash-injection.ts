/**
 * A backend that dies at a chosen call, like a process: from then on, no call returns. The call at which it dies has
 * either happened or not.
 * Its turns are recovered at that moment and not before. So no test waits for it, and a slow machine doesn't lose a lease
 * early.
 */
import type { HarnessBackend } from "./turn-harness.ts";

export interface CrashOptions {
  /** The number of calls that return. */
  readonly afterCalls: number;
  /** Whether the next call still happens, without returning. */
  readonly isExecuted: boolean;
}

/** Returns after how many calls a worker dies. */
export function crashPoints(first: number, calls: number, step = 1): number[] {
  return Array.from({ length: Math.max(0, Math.ceil((calls - first) / step)) }, (_, n) => first + n * step);
}

export class CrashPoint {
  #calls = 0;
  #isDead = false;
  readonly #death: CrashOptions;
  readonly #onDeath: (call: string) => void;
  readonly #heirs: (() => Promise<void>)[] = [];

  constructor(crash: CrashOptions, onDeath: (call: string) => void = () => {}) {
    this.#death = crash;
    this.#onDeath = onDeath;
  }

  get calls(): number {
    return this.#calls;
  }

  get hasCrashed(): boolean {
    return this.#isDead;
  }

  /** Runs after the crash, once the pending calls have happened. */
  onCrashed(run: () => Promise<void>): void {
    this.#heirs.push(run);
  }

  async intercept(name: string, call: () => Promise<unknown>): Promise<unknown> {
    if (this.#isDead) return never();
    if (this.#calls++ < this.#death.afterCalls) {
      const result = await call();
      return this.#isDead ? never() : result;
    }
    this.#isDead = true;
    this.#onDeath(name);
    if (this.#death.isExecuted) await call().catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    for (const run of this.#heirs) await run();
    return never();
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/** Reads return without being counted: dying there equals dying before the next write. */
const COUNTED = new Set([
  "log.append",
  "log.claim",
  "epochs.next",
  "journal.write",
  "journal.read",
  "archive.write",
  "queue.again",
  "queue.start",
  "queue.end",
  "outbox.add",
  "outbox.delivered",
  "transaction",
]);

export function withCrashPoint(parts: HarnessBackend, crashPoint: CrashPoint): HarnessBackend {
  const { log, store, signals } = parts;
  const take: typeof store.leases.take = (executor, ttlMs) => {
    crashPoint.onCrashed(async () => {
      await store.queue.recover(executor, { limit: 1_000 });
      await store.leases.release(executor, executor);
      signals.send("recovered", executor);
    });
    return store.leases.take(executor, ttlMs);
  };
  const wrap = <T extends object>(port: string, target: T): T =>
    new Proxy(target, {
      get(of, key) {
        const value: unknown = Reflect.get(of, key);
        if (typeof value === "object" && value !== null && port === "") return wrap(String(key), value);
        if (typeof value !== "function") return value;
        const name = port === "" ? String(key) : `${port}.${String(key)}`;
        return (...args: unknown[]) => {
          const call = (): Promise<unknown> => Reflect.apply(value, of, args) as Promise<unknown>;
          if (name === "close") return call();
          if (COUNTED.has(name)) return crashPoint.intercept(name, call);
          return crashPoint.hasCrashed ? never() : call();
        };
      },
    });
  return {
    log: new Proxy(log, {
      get(of, key) {
        const value: unknown = Reflect.get(of, key);
        if (typeof value !== "function" || key === "attach") return value;
        const name = `log.${String(key)}`;
        return (...args: unknown[]) => {
          const call = (): Promise<unknown> => Reflect.apply(value, of, args) as Promise<unknown>;
          if (COUNTED.has(name)) return crashPoint.intercept(name, call);
          return crashPoint.hasCrashed ? never() : call();
        };
      },
    }),
    store: wrap("", { ...store, leases: { ...store.leases, take } }),
    signals: {
      send: (channel, text) => (crashPoint.hasCrashed ? undefined : signals.send(channel, text)),
      listen: (channel, listener) =>
        signals.listen(channel, (text) => (crashPoint.hasCrashed ? undefined : listener(text))),
      close: () => signals.close(),
    },
  };
}
