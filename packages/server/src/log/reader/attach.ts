/**
 * `attach` and `listen` follow a log for one reader: they run the state machine of `follow.ts` on an engine. `attach`
 * returns an async iterable, `listen` calls a listener.
 *
 * Invariant: the follower subscribes before it reads, so no entry is missed between the two. Only about `maxQueued`
 * bytes, or one page, wait for a slow reader. Beyond that, the follower drops its live position and re-reads from the
 * log. It retries an unreachable engine for `timeoutMs`, then ends with `unavailable`.
 */
import { formatCursor, parseCursor, type Position } from "@turnstream/protocol";
import type { LogEngine, LogNotification } from "../engine.ts";
import type { LogEntry } from "../entry.ts";
import { retry } from "../../util/retry.ts";
import { isLogError } from "../errors.ts";
import {
  reduceFollow,
  type FollowEffect,
  type FollowState,
  type FollowInput,
  initialFollowState,
} from "./follow.ts";
import type {
  AttachOptions,
  InvalidCursorReason,
  LogDelivery,
  FollowEndReason,
  ReadResult,
  ReadRange,
} from "../log.ts";

export interface FollowSettings {
  /**
   * How many bytes, roughly, may wait for a slow reader. Beyond this the rest is read again from the log. @default
   * 1_000_000
   */
  readonly maxQueued: number;
  /** How many entries one read returns at most. @default 500 */
  readonly pageSize: number;
  /** How long the engine may stay unreachable before the reader gets the end reason `unavailable`. @default 30_000 */
  readonly timeoutMs: number;
}

/** Longest delay between two attempts while the engine is unreachable. */
const RETRY_EVERY_MS = 100;

const DEFAULTS: FollowSettings = {
  maxQueued: 1_000_000,
  pageSize: 500,
  timeoutMs: 30_000,
};

interface Waiting {
  resolve(result: IteratorResult<LogDelivery, undefined>): void;
  reject(error: unknown): void;
}

const OVER: IteratorResult<LogDelivery, undefined> = { done: true, value: undefined };

interface Source extends AttachOptions {
  readonly engine: LogEngine;
  readonly read: (name: string, range: ReadRange) => Promise<ReadResult>;
  /** The name of the log. */
  readonly name: string;
}

export function attach(source: Source, options: Partial<FollowSettings> = {}): AsyncIterable<LogDelivery> {
  return { [Symbol.asyncIterator]: () => new Follower(source, { ...DEFAULTS, ...options }) };
}

/**
 * Follows a log by callback. It creates no promise per delivery, so it suits processes that follow thousands of
 * sessions.
 */
export function listen(
  source: Source,
  listener: (delivery: LogDelivery) => void,
  options: Partial<FollowSettings> = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const pass = (): void => {
      try {
        const isOver = follower.pass(listener);
        if (isOver) resolve();
      } catch (error) {
        void follower.return();
        reject(error);
      }
    };
    const follower = new Follower(source, { ...DEFAULTS, ...options }, batched(pass));
    follower.start();
  });
}

/** Runs `work` at most once per tick. One microtask serves all followers. */
function batched(work: () => void): () => void {
  let isDue = false;
  const run = (): void => {
    isDue = false;
    work();
  };
  return () => {
    if (isDue) return;
    isDue = true;
    if (due.push(run) === 1) queueMicrotask(runDue);
  };
}

let due: (() => void)[] = [];

function runDue(): void {
  const all = due;
  due = [];
  for (const run of all) run();
}

/**
 * True if there is no log, or it ends before the position. Its next entry then comes right after the archived position.
 */
function isBefore(reason: InvalidCursorReason): boolean {
  return reason === "missing" || reason === "ahead";
}

/** Written by hand instead of as a generator, because every event for every reader passes through it. */
class Follower implements AsyncIterator<LogDelivery, undefined> {
  readonly #source: Source;
  readonly #settings: FollowSettings;
  #state: FollowState;
  #phase: "new" | "open" | "over" = "new";
  #queue: readonly LogEntry[] = [];
  #queued = 0;
  #end: FollowEndReason | null = null;
  #error: unknown = null;
  /** A read that starts once the reader has taken the queued entries. */
  #deferred: Position | null = null;
  #waiting: Waiting[] = [];
  #unsubscribe: (() => void) | null = null;
  /** Called whenever there may be something to take. Null for a reader that calls `next`. */
  readonly #ready: (() => void) | null;

  constructor(source: Source, settings: FollowSettings, ready: (() => void) | null = null) {
    this.#source = source;
    this.#settings = settings;
    this.#ready = ready;
    this.#state = initialFollowState(parseCursor(source.after) ?? { epoch: 0, seq: 0 });
  }

  next(): Promise<IteratorResult<LogDelivery, undefined>> {
    if (this.#phase === "new") this.start();
    const result = this.#take();
    if (result !== null) return Promise.resolve(result);
    if (this.#error !== null) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  async return(): Promise<IteratorResult<LogDelivery, undefined>> {
    this.#stop();
    return OVER;
  }

  /**
   * Passes all available deliveries to the listener. @returns true if the subscription is over. @throws the error that
   * ended it
   */
  pass(listener: (delivery: LogDelivery) => void): boolean {
    for (let result = this.#take(); result !== null; result = this.#take()) {
      if (result.done === true) return true;
      listener(result.value);
    }
    if (this.#error !== null) throw this.#error as Error;
    return false;
  }

  start(): void {
    this.#phase = "open";
    const { signal, after, name, engine } = this.#source;
    if (signal?.aborted === true) return this.#stop();
    signal?.addEventListener("abort", this.#stop, { once: true });
    if (parseCursor(after) === null) return this.#finish("malformed");
    void this.#persist(async () => {
      const unsubscribe = await engine.subscribe(name, (notification) => this.#onNotification(notification));
      if (this.#phase === "over") return unsubscribe();
      this.#unsubscribe = unsubscribe;
      this.#read(this.#state.last);
    });
  }

  readonly #stop = (): void => {
    this.#leave();
    this.#answer();
  };

  #leave(): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#queue = [];
    this.#source.signal?.removeEventListener("abort", this.#stop);
    this.#unsubscribe?.();
  }

  /** Takes the next delivery, or returns null if the reader has to wait. */
  #take(): IteratorResult<LogDelivery, undefined> | null {
    if (this.#phase === "over") return this.#error === null ? OVER : null;
    if (this.#queue.length > 0) {
      const entries = this.#queue;
      this.#queue = [];
      this.#queued = 0;
      this.#readDeferred();
      return { done: false, value: { type: "entries", entries } };
    }
    if (this.#end === null) return null;
    this.#leave();
    return { done: false, value: { type: "end", reason: this.#end } };
  }

  #answer(): void {
    if (this.#ready !== null) return this.#ready();
    while (this.#waiting.length > 0) {
      const result = this.#take();
      if (result === null && this.#error === null) return;
      const waiting = this.#waiting.shift();
      if (result === null) waiting?.reject(this.#error);
      else waiting?.resolve(result);
    }
  }

  #onNotification(notification: LogNotification): void {
    this.#step(notification.type === "removed" ? { type: "over", reason: "removed" } : notification);
  }

  #step(input: FollowInput): void {
    if (this.#phase === "over") return;
    const { state, effects } = reduceFollow(this.#state, input);
    this.#state = state;
    this.#run(effects);
  }

  #run(effects: readonly FollowEffect[]): void {
    for (const effect of effects) {
      if (effect.type === "deliver") this.#deliver(effect.entries);
      else if (effect.type === "read") this.#read(effect.after);
      else this.#finish(effect.reason);
    }
  }

  #deliver(entries: readonly LogEntry[]): void {
    this.#queue = this.#queue.length === 0 ? entries : this.#queue.concat(entries);
    for (const { size } of entries) this.#queued += size;
    this.#answer();
    // The queue is full: leave the live phase, and continue to read from here once the reader has taken the queue.
    if (this.#queued >= this.#settings.maxQueued && this.#state.phase === "live") {
      this.#step({ type: "possible-gap" });
    }
  }

  #read(after: Position): void {
    if (this.#queue.length > 0) {
      this.#deferred = after;
      return;
    }
    void this.#persist(async () => {
      const page = await this.#source.read(this.#source.name, {
        after: formatCursor(after),
        limit: this.#settings.pageSize,
      });
      if (page.ok) this.#step({ type: "page", entries: page.entries, more: page.more });
      else if (isBefore(page.reason) && (await this.#isFloor(after)))
        this.#step({ type: "page", entries: [], more: false });
      else this.#step({ type: "over", reason: page.reason });
    });
  }

  #readDeferred(): void {
    const after = this.#deferred;
    this.#deferred = null;
    if (after !== null) this.#read(after);
  }

  async #isFloor(position: Position): Promise<boolean> {
    return (await this.#source.readFloor?.()) === formatCursor(position);
  }

  #finish(reason: FollowEndReason): void {
    this.#end = reason;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#answer();
  }

  /** Retries while the engine is unreachable, for up to `timeoutMs`. */
  async #persist(work: () => Promise<void>): Promise<void> {
    const { timeoutMs } = this.#settings;
    const attempt = async (): Promise<void> => {
      if (this.#phase !== "over") await work();
    };
    try {
      await retry(attempt, {
        isRetryable: (error) => isLogError(error, "UNAVAILABLE"),
        timeoutMs,
        initialDelayMs: RETRY_EVERY_MS,
      });
    } catch (error) {
      if (isLogError(error, "UNAVAILABLE")) this.#step({ type: "over", reason: "unavailable" });
      else this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#error = error;
    this.#stop();
  }
}
