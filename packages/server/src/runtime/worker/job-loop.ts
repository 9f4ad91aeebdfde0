/**
 * `JobLoop` fetches jobs for the free slots of this worker and runs them. It fetches after hints, when jobs of a dead
 * worker were recovered, by polling, and again as long as it gets full batches.
 *
 * Invariant: it runs at most `maxJobs` jobs, and fetches only while `mayFetch` is true. Each fetched job is run, or
 * returned to the queue. A job of a turn that may end processes runs alone. After `handOver` nothing is
 * fetched, and each job returns to the queue when its handler has returned.
 */
import { EngineError, isEngineError } from "../../engine/errors.ts";
import type { RunningJobs } from "../../engine/executor.ts";
import { parseTurnTopic, turnTopic } from "../../session/signal-channels.ts";
import type { Signals } from "../../signals/signals.ts";
import { DEATHS_BEFORE_ALONE, type Jobs, type TurnJob } from "../../store/ports/jobs.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import { yieldToEventLoop } from "../../util/sleep.ts";
import { withTimeout } from "../../util/with-timeout.ts";
import { batchSize, crowdingTenants, fetchDelayMs } from "./fetch-rules.ts";

/**
 * Runs a job. Resolves when the job is completed or no longer belongs to this process. Throws if the job must return to
 * the queue, for example after the signal is aborted.
 */
export type JobHandler = (job: TurnJob, signal: AbortSignal) => Promise<void>;

export interface JobLoopOptions {
  readonly executor: string;
  readonly jobs: Pick<Jobs, "fetch" | "release">;
  readonly signals: Pick<Signals, "offer" | "hint" | "leastLoad">;
  readonly run: JobHandler;
  readonly maxJobs: number;
  /** The agents of this worker. */
  readonly agents: () => readonly string[];
  /** False if the lease may have expired. */
  readonly mayFetch: () => boolean;
  /** Makes the running handlers throw as soon as their current steps have ended. */
  readonly drain: () => void;
  /** Called when all handlers have returned after `drain`, before another one starts. */
  readonly onDrained: () => void;
  readonly onError: ErrorHandler;
  /** From 0 up to 1. @default Math.random */
  readonly random?: () => number;
}

interface Run {
  readonly job: TurnJob;
  /** No other job starts before this time. */
  readonly aloneUntil: number;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** How often the worker repeats its offer, and how often it announces a change of its load. */
const REPEAT_OFFER_MS = 1_000;
const OFFER_MS = 100;
const MIN_OFFER_MS = 5;
/** Before a job whose handler failed is fetched again. */
const FAILED_DELAY_MS = 1_000;
/** How long a job that must run alone waits for an idle worker. After that, a busy worker gives up its other jobs. */
const MAX_ALONE_WAIT_MS = 20_000;
/**
 * After one death, a suspected turn waits this long for an idle worker and then runs beside others. An idle worker that
 * takes it fetches nothing else for a while: a tool that ends its process usually does so soon.
 */
const SHORT_ALONE_WAIT_MS = 15_000;
const SHORT_ALONE_MS = 30_000;
/** How long the steps of the other jobs may take then. */
const MAX_DRAIN_MS = 30_000;

export class JobLoop implements RunningJobs {
  readonly #options: JobLoopOptions;
  readonly #random: () => number;
  readonly #runs = new Map<string, Run>();
  /** Jobs whose handler has returned and that return to the queue. */
  #returning: { readonly job: TurnJob; readonly delayMs: number }[] = [];
  #returned: Promise<void> = Promise.resolve();
  /** Agents whose queue has jobs, as far as is known. */
  readonly #due = new Set<string | null>();
  /** Agents whose queue may have jobs of tenants that were skipped. */
  readonly #hidden = new Set<string | null>();
  /** True if the next fetch is for all queues, and for jobs that must run alone. */
  #isPolling = false;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Infinity;
  #fetching: Promise<void> | null = null;
  #isOpen = false;
  #offeredAt = -Infinity;
  #offeredFree = false;
  #offerTimer: NodeJS.Timeout | null = null;
  /** A job that must run alone and that was seen in the queue while this worker was busy. */
  #seen: { readonly id: string; readonly at: number } | null = null;
  /** A job that must run alone, for which this worker gives up its other jobs. */
  #reserved: TurnJob | null = null;
  #drainTimer: NodeJS.Timeout | undefined;
  #recoveredTimer: NodeJS.Timeout | undefined;

  constructor(options: JobLoopOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  /** How many turns run here. */
  get running(): number {
    return this.#runs.size;
  }

  get jobs(): readonly TurnJob[] {
    const running = [...this.#runs.values()].map(({ job }) => job);
    return this.#reserved === null ? running : [...running, this.#reserved];
  }

  start(): void {
    this.#isOpen = true;
    this.poll();
    this.#offerTimer = setInterval(() => this.#offer(true), REPEAT_OFFER_MS).unref();
    this.#offer(true);
  }

  /** Fetches from all queues of this worker. */
  poll(): void {
    this.#wantAll();
    this.#schedule(0);
  }

  /** Fetches from the queue that a hint names. */
  hint(topic: string): void {
    const agent = parseTurnTopic(topic);
    if (agent === undefined || !this.#has(agent)) return;
    this.#due.add(agent);
    this.#schedule(fetchDelayMs("hint", 0, this.#random()));
  }

  /** Fetches from the queue of an agent at once. Sends a hint if only other workers have the agent. */
  fetchNext(agent: string | null): void {
    if (!this.#has(agent)) return this.#options.signals.hint(turnTopic(agent));
    this.#due.add(agent);
    this.#schedule(0);
  }

  #has(agent: string | null): boolean {
    return agent === null || this.#options.agents().includes(agent);
  }

  /** All workers get this wake-up, so those with less load fetch first. */
  onRecovered(): void {
    this.#wantAll();
    this.#schedule(this.#spreadDelay());
    this.#recoveredTimer ??= setTimeout(() => {
      this.#recoveredTimer = undefined;
      this.freeAllSlots().catch((error: unknown) =>
        this.#options.onError(error, { during: "fetching jobs" }),
      );
    }, SHORT_ALONE_WAIT_MS).unref();
  }

  lose(ids: readonly string[]): void {
    for (const id of ids) {
      if (this.#reserved?.id === id) this.#reserved = null;
      this.#runs.get(id)?.controller.abort(new EngineError("LEFT", `job ${id}`));
    }
  }

  /** Fetches no more. Running jobs continue. */
  stop(): void {
    this.#isOpen = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    clearTimeout(this.#recoveredTimer);
    if (this.#offerTimer !== null) clearInterval(this.#offerTimer);
    this.#offer(true);
  }

  async handOver(drainMs = 0): Promise<void> {
    this.stop();
    clearTimeout(this.#drainTimer);
    if (this.#reserved !== null) this.#return(this.#reserved);
    this.#reserved = null;
    if (drainMs > 0) await this.#allDone(drainMs);
    this.#abortAll();
    // What it fetches now returns to the queue.
    await this.#fetching;
    while (this.#runs.size > 0) await Promise.all([...this.#runs.values()].map(({ done }) => done));
    await this.#returned;
  }

  /**
   * Looks whether a job that must run alone waits although all workers are busy. After one death it runs here beside the
   * others. Otherwise this worker fetches nothing else, returns its other jobs to the queue, and runs that job. Call it
   * every few seconds.
   */
  async freeAllSlots(): Promise<void> {
    if (!this.#mayFetch() || this.#reserved !== null || this.#runs.size === 0 || this.#runsAlone()) return;
    const [job] = await this.#options.jobs.fetch({ ...this.#request(), limit: 1, alone: true });
    if (job === undefined) {
      this.#seen = null;
      return;
    }
    if (job.deaths < DEATHS_BEFORE_ALONE) return this.#free() > 0 ? this.#run(job) : this.#return(job);
    const now = performance.now();
    if (this.#seen?.id === job.id && now - this.#seen.at >= MAX_ALONE_WAIT_MS) {
      this.#reserved = job;
      this.#offer(true);
      this.#options.drain();
      this.#drainTimer = setTimeout(() => this.#abortAll(), MAX_DRAIN_MS).unref();
      return;
    }
    if (this.#seen?.id !== job.id) this.#seen = { id: job.id, at: now };
    this.#return(job);
  }

  /** Resolves when all handlers have returned, or after this time. */
  async #allDone(timeoutMs: number): Promise<void> {
    const all = Promise.all([...this.#runs.values()].map((run) => run.done));
    await withTimeout<unknown>(all, { ms: timeoutMs, onTimeout: () => undefined, keepAlive: true });
  }

  #abortAll(): void {
    for (const { job, controller } of this.#runs.values())
      controller.abort(new EngineError("LEFT", `job ${job.id}`));
  }

  #wantAll(): void {
    this.#isPolling = true;
    for (const agent of [...this.#options.agents(), null]) this.#due.add(agent);
  }

  #request() {
    const { executor, agents } = this.#options;
    return { executor, agents: [...agents(), null] };
  }

  #mayFetch(): boolean {
    return this.#isOpen && this.#options.mayFetch();
  }

  /** True if it runs the job of a turn that may end the process. */
  #runsAlone(): boolean {
    const now = performance.now();
    for (const { aloneUntil } of this.#runs.values()) if (aloneUntil > now) return true;
    return false;
  }

  #free(): number {
    if (!this.#isOpen || this.#reserved !== null || this.#runsAlone()) return 0;
    return this.#options.maxJobs - this.#runs.size;
  }

  /** The least load of the other workers that fetch from the same queues. */
  #leastLoad(agents: Iterable<string | null>): number | null {
    const { signals, executor } = this.#options;
    const [agent = null] = [...agents].filter((one) => one !== null);
    return signals.leastLoad(turnTopic(agent), executor);
  }

  #spreadDelay(): number {
    const least = this.#leastLoad(this.#due);
    return fetchDelayMs("broadcast", least === null ? 0 : this.#runs.size - least, this.#random());
  }

  /** The earliest of several calls counts. */
  #schedule(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (!this.#isOpen || (this.#timer !== null && this.#timerAt <= at)) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#fetching !== null) return;
      this.#fetching = this.#fetch()
        .catch((error: unknown) => this.#options.onError(error, { during: "fetching jobs" }))
        .finally(() => {
          this.#fetching = null;
          const isDue = this.#due.size > 0 || this.#isPolling;
          if (isDue && this.#free() > 0 && this.#mayFetch()) this.#schedule(this.#spreadDelay());
        });
    }, delayMs);
  }

  async #fetch(): Promise<void> {
    if (this.#free() === 0 || !this.#mayFetch()) return;
    const { jobs } = this.#options;
    // First, because these jobs wait for an idle worker.
    if (this.#isPolling && this.#runs.size === 0) {
      const [alone] = await jobs.fetch({ ...this.#request(), limit: 1, alone: true });
      if (alone !== undefined)
        return this.#run(alone, alone.deaths < DEATHS_BEFORE_ALONE ? SHORT_ALONE_MS : Infinity);
    }
    const free = this.#free();
    if (free === 0 || !this.#mayFetch()) return;
    const agents = [...this.#due];
    this.#due.clear();
    this.#isPolling = false;
    const least = this.#leastLoad(agents);
    const limit = batchSize({ free, running: this.#runs.size, least });
    const skipTenants = crowdingTenants(
      [...this.#runs.values()].map(({ job }) => job.tenant),
      free,
    );
    if (agents.length > 0) {
      const request = { ...this.#request(), agents, limit, skipTenants, alone: false };
      const fetched = await jobs.fetch(request);
      for (const job of fetched) this.#run(job);
      // While many jobs are queued, all workers must know the load of the others.
      if (fetched.length === limit) this.#offer(true);
      const backlog = fetched.length === limit ? this.#due : skipTenants.length > 0 ? this.#hidden : null;
      for (const agent of agents) backlog?.add(agent);
    }
  }

  /** @param aloneMs how long no other job may start */
  #run(job: TurnJob, aloneMs = 0): void {
    const controller = new AbortController();
    const done = this.#work(job, controller.signal).finally(() => {
      this.#runs.delete(job.id);
      this.#onEnd();
    });
    this.#runs.set(job.id, { job, controller, done, aloneUntil: performance.now() + aloneMs });
    if (aloneMs > 0 && aloneMs < Infinity) setTimeout(() => this.poll(), aloneMs).unref();
    this.#offer(false);
  }

  async #work(job: TurnJob, signal: AbortSignal): Promise<void> {
    try {
      if (!this.#mayFetch()) throw new EngineError("LEFT", `job ${job.id}`);
      await this.#options.run(job, signal);
    } catch (error) {
      // The store ignores jobs that no longer belong to this process.
      const isExpected = signal.aborted || !this.#isOpen || this.#reserved !== null;
      if (isExpected || isEngineError(error, "LEFT")) return this.#return(job);
      this.#options.onError(error, { during: `the job of session ${job.session}` });
      this.#return(job, FAILED_DELAY_MS);
    }
  }

  #onEnd(): void {
    this.#offer(false);
    if (this.#reserved !== null) return this.#runReserved();
    for (const agent of this.#hidden) this.#due.add(agent);
    this.#hidden.clear();
    if (this.#due.size > 0) this.#schedule(fetchDelayMs("hint", 0, this.#random()));
  }

  #runReserved(): void {
    const job = this.#reserved;
    if (job === null || this.#runs.size > 0) return;
    this.#reserved = null;
    clearTimeout(this.#drainTimer);
    this.#options.onDrained();
    this.#run(job, Infinity);
  }

  /** Returns a job to the queue. Most handlers return in the same tick, so their jobs return together. */
  #return(job: TurnJob, delayMs = 0): void {
    if (this.#returning.push({ job, delayMs }) > 1) return;
    const previous = this.#returned;
    this.#returned = (async () => {
      await Promise.all([previous, yieldToEventLoop()]);
      const returning = this.#returning;
      this.#returning = [];
      for (const delay of new Set(returning.map((one) => one.delayMs)))
        await this.#release(
          returning.filter((one) => one.delayMs === delay).map((one) => one.job),
          delay,
        );
    })();
  }

  async #release(jobs: readonly TurnJob[], delayMs: number): Promise<void> {
    const { jobs: queue, signals, onError } = this.#options;
    try {
      await queue.release(jobs, { delayMs });
      if (delayMs === 0) for (const { agent } of jobs) signals.hint(turnTopic(agent));
    } catch (error) {
      // The jobs are recovered when the lease of this process ends.
      onError(error, { during: "returning jobs to the queue" });
    }
  }

  /** Offers the free slots to the processes that send hints. */
  #offer(isDue: boolean): void {
    const { signals, executor, agents } = this.#options;
    const isFree = this.#free() > 0 && this.#mayFetch();
    const now = performance.now();
    const age = now - this.#offeredAt;
    if (!isFree && !this.#offeredFree) return;
    if (isFree === this.#offeredFree && age < (isDue ? MIN_OFFER_MS : OFFER_MS)) return;
    [this.#offeredAt, this.#offeredFree] = [now, isFree];
    const topics = [...agents(), null].map(turnTopic);
    signals.offer(executor, isFree ? { topics, load: this.#runs.size } : null);
  }
}
