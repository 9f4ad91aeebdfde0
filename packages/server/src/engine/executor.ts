/**
 * Keeps this process known as alive, and looks after those that aren't: renews its lease, finds executors whose lease
 * ran out, and has the engine recover their jobs. When its own lease may have run out it stops for good; a new one
 * begins under a new name. Never runs a job, and a store that fails never throws out of it.
 *
 *   alive ──▶ leaving ──▶ closed      SIGTERM: jobs are handed over as they come back, then the lease is given up
 *     └─────▶ lost ─────▶ closed      not renewed in time, or taken over
 */
import type { Signals } from "../signals/signals.ts";
import type { Leases } from "../store/ports/running.ts";
import { sleep } from "../util/sleep.ts";
import type { Engine } from "./engine.ts";
import { EngineError } from "./errors.ts";
import { EXECUTORS, HandOver } from "./hand-over.ts";
import { leaseIsFresh, watchIntervalMs, renewIntervalMs } from "./lease-timing.ts";

export interface ExecutorEnv {
  /** Milliseconds on a clock that never jumps and doesn't stop while the process is frozen. */
  monotonic(): number;
  /** From 0 up to 1. */
  random(): number;
}

export interface ExecutorOptions {
  readonly engine: Pick<Engine, "executor" | "recover" | "handOver" | "reassign">;
  readonly leases: Leases;
  readonly signals: Signals;
  readonly ttlMs?: number;
  /** How long `leave` waits for work to come back before it gives the lease up all the same. */
  readonly graceMs?: number;
  /** Called once, when others may have taken over what runs here. Close the engine and begin anew. */
  readonly onLost: () => void;
  /** Told what failed and will be tried again. */
  readonly onError?: (error: unknown) => void;
  readonly env?: ExecutorEnv;
}

export interface Executor {
  /** Whether nobody can have taken over the work of this process. Ask before anything that others would see. */
  isFresh(): boolean;
  /** Hands the jobs over and gives up the lease, so that others have them at once. Never throws. */
  leave(): Promise<void>;
}

const TTL_MS = 3_000;
const GRACE_MS = 2_000;
/** Dead executors looked for at a time. */
const BATCH = 16;
const RECOVERY_OFFER_ATTEMPTS = 20;

const systemExecutorEnv: ExecutorEnv = { monotonic: () => performance.now(), random: () => Math.random() };

/** Throws LEFT when the engine's name is taken over already, or what the store throws. */
export async function createExecutor(options: ExecutorOptions): Promise<Executor> {
  const leaseHolder = new LeaseHolder(options);
  await leaseHolder.begin();
  return { isFresh: () => leaseHolder.isFresh(), leave: () => leaseHolder.leave() };
}

class LeaseHolder {
  readonly #options: ExecutorOptions;
  readonly #executor: string;
  readonly #ttlMs: number;
  readonly #env: ExecutorEnv;
  readonly #renewals = new Set<Promise<void>>();
  /** Taken over by us and not moved yet. */
  readonly #dead = new Set<string>();
  /** Asked for, without an answer: perhaps ours, and then nobody else would get them. */
  readonly #doubtful = new Set<string>();
  #renewedAt = -Infinity;
  #state: "alive" | "leaving" | "lost" | "closed" = "alive";
  #renewTimer: NodeJS.Timeout | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #sweepAgain = false;
  #left: Promise<void> | undefined;
  #recoveryOffer: Promise<void> | undefined;
  #unlisten: () => void = () => undefined;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#executor = options.engine.executor;
    this.#ttlMs = options.ttlMs ?? TTL_MS;
    this.#env = options.env ?? systemExecutorEnv;
  }

  async begin(): Promise<void> {
    const sentAt = this.#env.monotonic();
    if (!(await this.#options.leases.take(this.#executor, this.#ttlMs))) {
      throw new EngineError("LEFT", `executor ${this.#executor}`);
    }
    this.#renewedAt = sentAt;
    this.#renewTimer = setInterval(() => this.#renew(), renewIntervalMs(this.#ttlMs));
    this.#unlisten = this.#options.signals.listen(EXECUTORS, (who) => {
      if (who !== this.#executor) this.#sweep();
    });
    this.#sweep();
  }

  isFresh(): boolean {
    if (this.#state === "lost" || this.#state === "closed") return false;
    if (leaseIsFresh(this.#renewedAt, this.#env.monotonic(), this.#ttlMs)) return true;
    this.#lose();
    return false;
  }

  /** Doesn't wait for the one before: its connection may be dead, and another may answer. */
  #renew(): void {
    if (!this.isFresh()) return;
    const renewal = this.#askToRenew().finally(() => this.#renewals.delete(renewal));
    this.#renewals.add(renewal);
  }

  async #askToRenew(): Promise<void> {
    const sentAt = this.#env.monotonic();
    try {
      const renewed = await this.#options.leases.renew(this.#executor, this.#ttlMs);
      if (renewed) this.#renewedAt = Math.max(this.#renewedAt, sentAt);
      else this.#lose();
    } catch (error) {
      this.#failed(error);
    }
  }

  #lose(): void {
    if (this.#state === "lost" || this.#state === "closed") return;
    this.#state = "lost";
    this.#stopTimers();
    this.#recoveryOffer = this.#offerForRecovery();
    this.#options.onLost();
  }

  /**
   * What this process had begun to write when its lease ran out may have come after the recovery of its jobs, and
   * nobody would look for it. So it gives its name once more to be recovered.
   */
  async #offerForRecovery(): Promise<void> {
    const { engine, leases, signals } = this.#options;
    try {
      await engine.handOver();
    } catch (error) {
      this.#failed(error);
    }
    for (let n = 0; n < RECOVERY_OFFER_ATTEMPTS; n++) {
      try {
        // False while its successor is still at it.
        if (await leases.take(this.#executor, this.#ttlMs)) {
          await leases.leave(this.#executor);
          signals.send(EXECUTORS, this.#executor);
          return;
        }
      } catch (error) {
        this.#failed(error);
      }
      await sleep(renewIntervalMs(this.#ttlMs), { unref: true });
    }
  }

  /** At once, or again right after the look that is under way. */
  #sweep(): void {
    clearTimeout(this.#sweepTimer);
    if (this.#state !== "alive") return;
    if (this.#sweeping !== undefined) {
      this.#sweepAgain = true;
      return;
    }
    this.#sweeping = this.#recoverDead()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#sweeping = undefined;
        if (this.#state !== "alive") return;
        const after = this.#sweepAgain ? 0 : watchIntervalMs(this.#ttlMs, this.#env.random());
        this.#sweepAgain = false;
        this.#sweepTimer = setTimeout(() => this.#sweep(), after);
      });
  }

  async #recoverDead(): Promise<void> {
    const { engine, leases } = this.#options;
    for (const dead of new Set([...this.#doubtful, ...(await leases.expired(BATCH))])) {
      if (dead === this.#executor || !this.#mayTake()) continue;
      this.#doubtful.add(dead);
      const taken = await leases.takeDead(dead, this.#executor);
      this.#doubtful.delete(dead);
      if (taken) this.#dead.add(dead);
    }
    // Kept until they are moved: nobody else may take them while we live.
    for (const dead of this.#dead) {
      if (!this.#mayTake()) return;
      try {
        await engine.recover(dead);
        await leases.release(dead, this.#executor);
        this.#dead.delete(dead);
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  #mayTake(): boolean {
    return this.isFresh() && this.#state === "alive";
  }

  leave(): Promise<void> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  async #leave(): Promise<void> {
    const { engine, leases, signals, graceMs = GRACE_MS } = this.#options;
    if (this.isFresh()) {
      this.#state = "leaving";
      const handOn = new HandOver({
        ...this.#options,
        ttlMs: this.#ttlMs,
        onError: (error) => this.#failed(error),
      });
      const handedOver = engine.handOver((id) => handOn.add(id)).then(() => handOn.done());
      // Renewed until the work has come back, so that nobody takes it before.
      await within(graceMs, Promise.allSettled([this.#sweeping, handedOver]));
      clearInterval(this.#renewTimer);
      // One that comes after the end would make the lease last again.
      await within(this.#ttlMs, Promise.allSettled(this.#renewals));
    }
    if (!this.isFresh()) {
      await within(graceMs, Promise.resolve(this.#recoveryOffer));
      return;
    }
    this.#state = "closed";
    this.#stopTimers();
    try {
      await leases.leave(this.#executor);
      signals.send(EXECUTORS, this.#executor);
    } catch (error) {
      // It runs out by itself.
      this.#failed(error);
    }
  }

  #stopTimers(): void {
    clearInterval(this.#renewTimer);
    clearTimeout(this.#sweepTimer);
    this.#unlisten();
  }

  #failed(error: unknown): void {
    this.#options.onError?.(error);
  }
}

async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  try {
    await Promise.race([promise, sleep(ms, { signal: done.signal })]);
  } finally {
    done.abort();
  }
}
