/**
 * `TurnLoop` starts queued turns in the free slots of this process. It asks the queue after signals, by polling, when a
 * turn ends, and again as long as it gets full batches.
 *
 * Invariant: it runs at most `maxTurns` turns, and starts some only while `mayStart` is true. Each turn that the store gives
 * it is run, or returns to the queue. A turn during which processes died runs without others, unless it waited for long.
 * After `handOver` nothing is started, and each turn returns to the queue when its handler has returned.
 */
import { EngineError, isEngineError } from "../errors.ts";
import type { HeldTurns } from "../lease/lease.ts";
import { TURNS_CHANNEL } from "../../session/signal-channels.ts";
import type { Signals } from "../../signals/signals.ts";
import { type HeldTurn, type StartedTurn, type TurnQueue } from "../../store/turn-queue.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import { sessionKey } from "../../util/refs.ts";
import { yieldToEventLoop } from "../../util/sleep.ts";
import { withTimeout } from "../../util/with-timeout.ts";
import { batchSize, crowdingTenants, startDelayMs } from "./start-rules.ts";

/**
 * Runs a turn. Resolves when the turn has ended, is parked, or no longer belongs to this process. Throws if it must return
 * to the queue, for example after the signal is aborted.
 */
export type TurnHandler = (turn: StartedTurn, signal: AbortSignal) => Promise<void>;

export interface TurnLoopOptions {
  readonly executor: string;
  readonly queue: Pick<TurnQueue, "start" | "held" | "release">;
  readonly signals: Pick<Signals, "send">;
  readonly run: TurnHandler;
  readonly maxTurns: number;
  /** The agents of this process. */
  readonly agents: () => readonly string[];
  /** False if the lease may have expired. */
  readonly mayStart: () => boolean;
  readonly onError: ErrorHandler;
  /** From 0 up to 1. @default Math.random */
  readonly random?: () => number;
}

interface Run {
  readonly held: HeldTurn;
  /** True if no other turn starts while it runs. */
  readonly isAlone: boolean;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** Before a turn is started again whose handler failed, or whose earlier attempt has not ended here. */
const FAILED_DELAY_MS = 1_000;

export class TurnLoop implements HeldTurns {
  readonly #options: TurnLoopOptions;
  readonly #random: () => number;
  readonly #runs = new Map<string, Run>();
  /** Turns whose handler has returned and that return to the queue. */
  #returning: { readonly held: HeldTurn; readonly delayMs: number }[] = [];
  #returned: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #starting: Promise<void> | null = null;
  /** How many times the queue was asked. */
  #asked = 0;
  /** True if more turns may be queued than were started. */
  #hasMore = false;
  /** True if turns were queued while the queue was asked. */
  #isLate = false;
  #isOpen = false;

  constructor(options: TurnLoopOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  /** How many turns run here. */
  get running(): number {
    return this.#runs.size;
  }

  open(): void {
    this.#isOpen = true;
    this.poll();
  }

  poll(): void {
    this.#schedule(0);
  }

  /** Other processes get the same signal. The one with the least load starts the turn. */
  onQueued(agent: string | null): void {
    if (this.#has(agent)) this.#schedule(this.#delay());
  }

  /** Starts the turn of an agent at once, or sends a signal if only other processes have the agent. */
  startNext(agent: string | null): void {
    if (this.#has(agent)) this.poll();
    else this.#options.signals.send(TURNS_CHANNEL, agent ?? "");
  }

  /**
   * Compares the turns that run here with those that this process has in the store. Aborts turns that no longer belong to
   * it, and returns those that it never learned of, because the answer of the store was lost.
   */
  async compareHeld(): Promise<void> {
    const { queue, executor } = this.#options;
    const asked = this.#asked;
    if (this.#starting !== null) return;
    const held = await queue.held(executor);
    // The answer may be older than a start.
    if (this.#asked !== asked) return;
    const known = new Map(held.map((turn) => [sessionKey(turn), turn]));
    for (const [key, run] of this.#runs) if (!known.has(key)) abort(run);
    for (const { held: turn } of this.#returning) known.delete(sessionKey(turn));
    const unknown = [...known].flatMap(([key, turn]) => (this.#runs.has(key) ? [] : [turn]));
    if (unknown.length > 0) await queue.release(unknown);
  }

  /** Starts no more. Running turns continue. */
  close(): void {
    this.#isOpen = false;
    clearTimeout(this.#timer);
  }

  async handOver(drainMs = 0): Promise<void> {
    this.close();
    if (drainMs > 0) await this.#allDone(drainMs);
    for (const run of this.#runs.values()) abort(run);
    // What the store gives it now returns to the queue.
    await this.#starting;
    while (this.#runs.size > 0) await this.#allDone(0);
    await this.#returned;
  }

  /** Resolves when all handlers have returned, or after this time. 0 means no limit. */
  async #allDone(timeoutMs: number): Promise<void> {
    const all = Promise.all([...this.#runs.values()].map(({ done }) => done));
    if (timeoutMs === 0) await all;
    else await withTimeout<unknown>(all, { ms: timeoutMs, onTimeout: () => undefined, keepAlive: true });
  }

  #has(agent: string | null): boolean {
    return agent === null || this.#options.agents().includes(agent);
  }

  #free(): number {
    if (!this.#isOpen || !this.#options.mayStart()) return 0;
    for (const { isAlone } of this.#runs.values()) if (isAlone) return 0;
    return this.#options.maxTurns - this.#runs.size;
  }

  #delay(): number {
    return startDelayMs(this.#runs.size / this.#options.maxTurns, this.#random());
  }

  /** The earliest of several calls counts. */
  #schedule(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (!this.#isOpen || this.#timerAt <= at) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timerAt = Infinity;
      // Whatever caused this may be newer than the question that is on its way.
      this.#isLate = this.#starting !== null;
      this.#hasMore = this.#free() === 0;
      if (this.#isLate || this.#hasMore) return;
      this.#starting = this.#startTurns()
        .catch((error: unknown) => this.#options.onError(error, { during: "starting turns" }))
        .finally(() => {
          this.#starting = null;
          if (this.#isLate) this.poll();
        });
    }, delayMs);
  }

  async #startTurns(): Promise<void> {
    const { queue, executor, agents } = this.#options;
    const free = this.#free();
    const tenants = [...this.#runs.values()].map(({ held }) => held.tenant);
    const skipTenants = crowdingTenants(tenants, free);
    const limit = batchSize(free);
    const isIdle = this.#runs.size === 0;
    this.#asked++;
    const started = await queue.start({ executor, agents: agents(), limit, skipTenants, isIdle });
    for (const turn of started) this.#run(turn);
    // Turns of skipped tenants wait until a slot is free.
    this.#hasMore = skipTenants.length > 0 || started.length === limit;
    if (started.length === limit && this.#free() > 0) this.#schedule(this.#delay());
  }

  #run(turn: StartedTurn): void {
    const { held, isAlone } = turn;
    const key = sessionKey(held);
    const earlier = this.#runs.get(key);
    if (earlier !== undefined) {
      // The database has lost what it gave to this process before. That attempt must end first.
      abort(earlier);
      return this.#return(held, FAILED_DELAY_MS);
    }
    const controller = new AbortController();
    const done = this.#work(turn, controller.signal).finally(() => {
      this.#runs.delete(key);
      if (this.#hasMore || isAlone) this.#schedule(this.#random());
    });
    this.#runs.set(key, { held, controller, done, isAlone });
  }

  async #work(turn: StartedTurn, signal: AbortSignal): Promise<void> {
    const { mayStart, run, onError } = this.#options;
    const { held } = turn;
    try {
      if (!mayStart()) throw new EngineError("LEFT", `session ${held.session}`);
      await run(turn, signal);
    } catch (error) {
      // The store ignores turns that no longer belong to this process.
      if (signal.aborted || !this.#isOpen || isEngineError(error, "LEFT")) return this.#return(held);
      onError(error, { during: `the turn of session ${held.session}` });
      this.#return(held, FAILED_DELAY_MS);
    }
  }

  /** Returns a turn to the queue. Most handlers return in the same tick, so their turns return together. */
  #return(held: HeldTurn, delayMs = 0): void {
    if (this.#returning.push({ held, delayMs }) > 1) return;
    const previous = this.#returned;
    this.#returned = (async () => {
      await Promise.all([previous, yieldToEventLoop()]);
      const returning = this.#returning;
      this.#returning = [];
      for (const delay of new Set(returning.map((one) => one.delayMs)))
        await this.#release(
          returning.filter((one) => one.delayMs === delay).map((one) => one.held),
          delay,
        );
    })();
  }

  async #release(turns: readonly HeldTurn[], delayMs: number): Promise<void> {
    const { queue, signals, onError } = this.#options;
    try {
      await queue.release(turns, { delayMs });
      if (delayMs === 0) signals.send(TURNS_CHANNEL, "");
    } catch (error) {
      // They are found when the lease of this process ends, or when it compares what it holds.
      onError(error, { during: "returning turns to the queue" });
    }
  }
}

function abort({ held, controller }: Run): void {
  controller.abort(new EngineError("LEFT", `session ${held.session}`));
}
