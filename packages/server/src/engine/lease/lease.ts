/**
 * `Lease` is the lease of this process: it renews it, compares the turns that run here with the store, finds dead executors,
 * and returns their turns to the queue in slices. It runs no turns. After the start, errors of the store are passed to
 * `onError` and never thrown.
 * Invariant: `isFresh` is false as soon as another process may have taken over. A lease that was not renewed in time is
 * in doubt, and good again if a renewal succeeds, because the store refuses it after a takeover. After a refused renewal
 * this executor stops for good; a new one must start under a new name. It takes over others only while it is alive,
 * fresh and allowed to by `mayTakeOver`, and retries each recovery until it succeeds. It ends its lease only after
 * all handlers returned or the drain and grace periods passed.
 *
 *   alive ──▶ leaving ──▶ closed      SIGTERM: hand over each turn when its handler returns, then end the lease
 *     └─────▶ lost                    a renewal was refused, because the lease was taken over
 */
import type { Signals } from "../../signals/signals.ts";
import type { TurnQueue } from "../../store/turn-queue.ts";
import type { Leases } from "../../store/leases.ts";
import { sleep } from "../../util/sleep.ts";
import { EngineError } from "../errors.ts";
import {
  addRenewal,
  leaseIsFresh,
  mayTakeOver,
  type Renewals,
  renewIntervalMs,
  watchIntervalMs,
} from "./lease-timing.ts";

export interface LeaseEnv {
  /** Milliseconds of a monotonic clock that also advances while the process is suspended. */
  monotonic(): number;
  /** From 0 up to 1. */
  random(): number;
}

/** The turns that run in this process. */
export interface HeldTurns {
  /** Compares the turns that run here with those that the store gave to this process. */
  compareHeld(): Promise<void>;
  /**
   * Starts no more, and aborts the turns that still run after `drainMs`. Returns each unfinished turn to the queue when its
   * handler returns, and resolves when all have returned.
   * @param drainMs Default: the turns are aborted at once
   */
  handOver(drainMs?: number): Promise<void>;
}

export interface LeaseOptions {
  /** The name of this process, different at every launch. */
  readonly executor: string;
  readonly running: HeldTurns;
  readonly queue: Pick<TurnQueue, "recover" | "leave">;
  readonly leases: Leases;
  readonly signals: Signals;
  /** How long the lease lasts without a renewal. @default 15_000 */
  readonly ttlMs?: number;
  /** How long `leave` waits for handlers to return. After that it returns their turns anyway. @default 2_000 */
  readonly graceMs?: number;
  /** Returns whether this process can reach the log. While it can't, it takes over no turns. @default always */
  readonly reachesLog?: () => boolean;
  /**
   * Called once, when other executors may have taken over the turns of this process.
   */
  readonly onLost: () => void;
  /** Receives errors of operations that will be retried. */
  readonly onError?: (error: unknown) => void;
  readonly env?: LeaseEnv;
}

/** Signal channel that announces queued turns of an executor that has left or died. */
export const RECOVERED_CHANNEL = "recovered";
const TTL_MS = 15_000;
const GRACE_MS = 2_000;
/** How often a lease is renewed while its process holds a lock. */
const LOCKED_RENEWAL_MS = 1_000;
/** How long a caller waits between two renewals while the lease is in doubt, at most. */
const CONFIRM_MS = 1_000;
/** Maximum dead executors per query. */
const BATCH = 16;
/** Turns that are recovered at once. The pause lets all living workers start some of them. */
const SLICE = 20;
const SLICE_PAUSE_MS = 20;

const systemEnv: LeaseEnv = { monotonic: () => performance.now(), random: () => Math.random() };

export class Lease {
  readonly #options: LeaseOptions;
  readonly #executor: string;
  readonly #ttlMs: number;
  readonly #env: LeaseEnv;
  readonly #renewals = new Set<Promise<void>>();
  /** Dead executors that this one has claimed and not yet recovered. */
  readonly #dead = new Set<string>();
  /**
   * Executors whose claim got no response. The claim may have succeeded, and then no other process would recover them.
   */
  readonly #doubtful = new Set<string>();
  /** When the last successful renewal was sent. */
  #renewedAt = -Infinity;
  #history: Renewals = { lastAt: -Infinity, steadySince: -Infinity };
  #isConfirming = false;
  /** Whether other processes notice the death of this one at once. */
  #hasLock = false;
  #ticks = 0;
  readonly #waiting = new Set<() => void>();
  #state: "alive" | "leaving" | "lost" | "closed" = "alive";
  #renewTimer: NodeJS.Timeout | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #left: Promise<void> | undefined;
  #handedOver: Promise<void> | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#executor = options.executor;
    this.#ttlMs = options.ttlMs ?? TTL_MS;
    this.#env = options.env ?? systemEnv;
  }

  /** @throws EngineError with code `LEFT` if the name was already taken over, or the error of the store */
  async begin(): Promise<void> {
    // First, so that the lease states from its start that its process has a lock.
    await this.#hold();
    const sentAt = this.#env.monotonic();
    if (!(await this.#options.leases.take(this.#executor, this.#ttlMs))) {
      throw new EngineError("LEFT", `executor ${this.#executor}`);
    }
    this.#renewedAt = sentAt;
    this.#history = { ...this.#history, lastAt: this.#env.monotonic() };
    const everyMs = Math.min(LOCKED_RENEWAL_MS, renewIntervalMs(this.#ttlMs));
    this.#renewTimer = setInterval(() => this.#tick(), everyMs);
    this.#sweep();
  }

  /** Returns true if no other process can have taken over the work of this one. Check it before any visible effect. */
  isFresh(): boolean {
    return !this.isLost() && leaseIsFresh(this.#renewedAt, this.#env.monotonic(), this.#ttlMs);
  }

  /** Returns true if the lease was taken over or released. If it is neither fresh nor lost, it is in doubt. */
  isLost(): boolean {
    return this.#state === "lost" || this.#state === "closed";
  }

  /** Waits while the lease is in doubt. @returns true if it is fresh, and false if it is lost */
  async untilFresh(signal: AbortSignal): Promise<boolean> {
    while (!this.isFresh()) {
      if (this.isLost()) return false;
      await this.#confirmOnce(signal);
    }
    return true;
  }

  /** Like `untilFresh`, but renews the lease first. */
  async confirm(signal: AbortSignal): Promise<boolean> {
    const { lastAt } = this.#history;
    while (this.#history.lastAt === lastAt && !this.isLost()) await this.#confirmOnce(signal);
    return this.untilFresh(signal);
  }

  /** All callers share one renewal, because every turn asks after an outage. Its success ends the sleep. */
  async #confirmOnce(signal: AbortSignal): Promise<void> {
    if (!this.#isConfirming) {
      this.#isConfirming = true;
      void this.#renew().finally(() => (this.#isConfirming = false));
    }
    const registerWake = (wake: () => void) => {
      this.#waiting.add(wake);
      return () => void this.#waiting.delete(wake);
    };
    await sleep(Math.min(CONFIRM_MS, renewIntervalMs(this.#ttlMs)), { signal, registerWake });
  }

  #tick(): void {
    const ticks = Math.max(1, Math.floor(renewIntervalMs(this.#ttlMs) / LOCKED_RENEWAL_MS));
    const isDue = ++this.#ticks % ticks === 0;
    if (isDue) void this.#hold();
    if (isDue || this.#hasLock) void this.#renew();
    if (this.#ticks % (2 * ticks) === 0)
      this.#options.running.compareHeld().catch((error: unknown) => this.#failed(error));
  }

  /** A failure only means that others notice the death of this process later. */
  async #hold(): Promise<void> {
    try {
      this.#hasLock = await this.#options.leases.hold(this.#executor);
    } catch (error) {
      this.#hasLock = false;
      this.#failed(error);
    }
  }

  /** Does not wait for the previous renewal: its connection may be dead while another one works. */
  #renew(): Promise<void> {
    const renewal = this.#askToRenew().finally(() => this.#renewals.delete(renewal));
    this.#renewals.add(renewal);
    return renewal;
  }

  async #askToRenew(): Promise<void> {
    const sentAt = this.#env.monotonic();
    try {
      const reachesLog = this.#reachesLog;
      const renewed = await this.#options.leases.renew(this.#executor, this.#ttlMs, { reachesLog });
      if (!renewed) return this.#lose();
      this.#renewedAt = Math.max(this.#renewedAt, sentAt);
      this.#history = addRenewal(this.#history, this.#env.monotonic(), this.#ttlMs);
      this.#wake();
    } catch (error) {
      this.#failed(error);
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  #lose(): void {
    if (this.isLost()) return;
    this.#state = "lost";
    this.#stopTimers();
    this.#wake();
    this.#handedOver = this.#options.running.handOver().catch((error: unknown) => this.#failed(error));
    this.#options.onLost();
  }

  #sweep(): void {
    this.#sweeping = this.#recoverDead()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#sweeping = undefined;
        if (this.#state !== "alive") return;
        const after = watchIntervalMs(this.#ttlMs, this.#env.random());
        this.#sweepTimer = setTimeout(() => this.#sweep(), after);
      });
  }

  async #recoverDead(): Promise<void> {
    const { leases } = this.#options;
    for (const dead of new Set([...this.#doubtful, ...(await leases.expired(BATCH))])) {
      if (dead === this.#executor || !this.#mayTake()) continue;
      this.#doubtful.add(dead);
      const taken = await leases.takeDead(dead, this.#executor);
      this.#doubtful.delete(dead);
      if (taken) this.#dead.add(dead);
    }
    // Retry until they are recovered, because no other executor may claim them while this one is alive.
    for (const dead of this.#dead) {
      if (!this.#mayTake()) return;
      try {
        if (!(await this.#recover(dead))) return;
        const isDone = await leases.release(dead, this.#executor);
        this.#dead.delete(dead);
        // It still has turns, which were locked, or another executor has taken it over since.
        if (!isDone) this.#doubtful.add(dead);
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  /** Returns false if this executor may not go on: another one takes over the rest. */
  async #recover(dead: string): Promise<boolean> {
    const { queue, signals } = this.#options;
    for (;;) {
      const count = await queue.recover(dead, { limit: SLICE });
      if (count > 0) signals.send(RECOVERED_CHANNEL, dead);
      if (count < SLICE) return true;
      await sleep(SLICE_PAUSE_MS * (0.5 + this.#env.random()), { unref: true });
      if (!this.#mayTake()) return false;
    }
  }

  #mayTake(): boolean {
    const mayTake = mayTakeOver(this.#history, this.#env.monotonic(), this.#ttlMs);
    return this.#state === "alive" && this.isFresh() && mayTake && this.#reachesLog;
  }

  get #reachesLog(): boolean {
    return this.#options.reachesLog?.() ?? true;
  }

  /**
   * Hands over the turns and releases the lease, so that other executors can continue them immediately. Never throws.
   * @param drainMs how long running turns may continue first. Default: they are aborted at once
   */
  leave(drainMs = 0): Promise<void> {
    this.#left ??= this.#leave(drainMs);
    return this.#left;
  }

  async #leave(drainMs: number): Promise<void> {
    const { running, queue, signals, graceMs = GRACE_MS } = this.#options;
    if (!this.isLost()) {
      this.#state = "leaving";
      const handedOver = running.handOver(drainMs);
      // Keep renewing until all handlers have returned, so that no other process takes over running turns.
      await within(drainMs + graceMs, Promise.allSettled([this.#sweeping, handedOver]));
      clearInterval(this.#renewTimer);
      // A late renewal would extend the lease after it was released.
      await within(this.#ttlMs, Promise.allSettled(this.#renewals));
    }
    if (this.isLost()) {
      await within(graceMs, Promise.resolve(this.#handedOver));
      return;
    }
    this.#state = "closed";
    this.#stopTimers();
    this.#wake();
    // If the store is away, the lease expires by itself.
    const left = queue.leave(this.#executor).then(() => signals.send(RECOVERED_CHANNEL, this.#executor));
    await within(
      graceMs,
      left.catch((error: unknown) => this.#failed(error)),
    );
  }

  #stopTimers(): void {
    clearInterval(this.#renewTimer);
    clearTimeout(this.#sweepTimer);
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
