/**
 * `attach` and `listen` follow a log for one reader: they run the state machine of `follow.ts` on an engine. `attach`
 * returns an async iterable, `listen` calls a listener.
 *
 * Invariant: the follower subscribes before it reads, so no entry is missed between the two. Only about `maxQueued`
 * bytes, or one page, wait for a slow reader. Beyond that, the follower drops its live position and re-reads from the
 * log. It retries an unreachable engine for `timeoutMs`, then ends with `unavailable`.
 */
import { formatCursor, parseCursor, type Position } from "@turnstream/protocol";
import type { LogEngine } from "../engine.ts";
import type { LogEntry } from "../entry.ts";
import { retry } from "../../util/retry.ts";
import { isLogError } from "../errors.ts";
import { reduceFollow, type FollowState, type FollowInput, initialFollowState } from "./follow.ts";
import type { AttachOptions, LogDelivery, FollowEndReason, ReadResult, ReadRange } from "../log.ts";

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

interface Source extends AttachOptions {
  readonly engine: LogEngine;
  readonly read: (name: string, range: ReadRange) => Promise<ReadResult>;
  /** The name of the log. */
  readonly name: string;
}

export async function* attach(
  source: Source,
  options: Partial<FollowSettings> = {},
): AsyncGenerator<LogDelivery, void> {
  let ready = Promise.withResolvers<void>();
  const follower = new Follower(source, { ...DEFAULTS, ...options }, () => ready.resolve());
  follower.start();
  try {
    while (true) {
      ready = Promise.withResolvers();
      const delivery = follower.take();
      if (delivery !== null) yield delivery;
      else if (follower.isOver) return;
      else await ready.promise;
    }
  } finally {
    follower.stop();
  }
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
        for (let next = follower.take(); next !== null; next = follower.take()) listener(next);
        if (follower.isOver) resolve();
      } catch (error) {
        follower.stop();
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

/** Written without promises for entries, because every event for every reader passes through it. */
class Follower {
  readonly #source: Source;
  readonly #settings: FollowSettings;
  /** Called whenever there may be something to take. */
  readonly #onReady: () => void;
  #state: FollowState;
  #isOver = false;
  #queue: readonly LogEntry[] = [];
  #queued = 0;
  #end: FollowEndReason | null = null;
  #failure: { readonly error: unknown } | null = null;
  /** A read that starts once the reader has taken the queued entries. */
  #deferred: Position | null = null;
  #unsubscribe: (() => void) | null = null;

  constructor(source: Source, settings: FollowSettings, onReady: () => void) {
    this.#source = source;
    this.#settings = settings;
    this.#onReady = onReady;
    this.#state = initialFollowState(parseCursor(source.after) ?? { epoch: 0, seq: 0 });
  }

  /** True if nothing more can be taken. */
  get isOver(): boolean {
    return this.#isOver;
  }

  start(): void {
    const { signal, after, name, engine } = this.#source;
    if (signal?.aborted === true) return this.stop();
    signal?.addEventListener("abort", this.stop, { once: true });
    if (parseCursor(after) === null) return this.#finish("malformed");
    void this.#persist(async () => {
      const unsubscribe = await engine.subscribe(name, (notification) =>
        this.#step(notification.type === "removed" ? { type: "over", reason: "removed" } : notification),
      );
      if (this.#isOver) return unsubscribe();
      this.#unsubscribe = unsubscribe;
      this.#read(this.#state.last);
    });
  }

  readonly stop = (): void => {
    if (this.#isOver) return;
    this.#leave();
    this.#onReady();
  };

  #leave(): void {
    this.#isOver = true;
    this.#queue = [];
    this.#source.signal?.removeEventListener("abort", this.stop);
    this.#unsubscribe?.();
  }

  /** Returns the next delivery, or null if there is none now. @throws the error that ended the subscription */
  take(): LogDelivery | null {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#isOver) return null;
    if (this.#queue.length > 0) {
      const entries = this.#queue;
      this.#queue = [];
      this.#queued = 0;
      const after = this.#deferred;
      this.#deferred = null;
      if (after !== null) this.#read(after);
      return { type: "entries", entries };
    }
    if (this.#end === null) return null;
    this.#leave();
    return { type: "end", reason: this.#end };
  }

  #step(input: FollowInput): void {
    if (this.#isOver) return;
    const { state, effects } = reduceFollow(this.#state, input);
    this.#state = state;
    for (const effect of effects) {
      if (effect.type === "deliver") this.#deliver(effect.entries);
      else if (effect.type === "read") this.#read(effect.after);
      else this.#finish(effect.reason);
    }
  }

  #deliver(entries: readonly LogEntry[]): void {
    this.#queue = this.#queue.length === 0 ? entries : this.#queue.concat(entries);
    for (const { size } of entries) this.#queued += size;
    this.#onReady();
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
    const { read, name, readFloor } = this.#source;
    const cursor = formatCursor(after);
    void this.#persist(async () => {
      const page = await read(name, { after: cursor, limit: this.#settings.pageSize });
      if (page.ok) return this.#step({ type: "page", entries: page.entries, more: page.more });
      // There is no log, or it ends before the position. Its next entry comes right after the archived position.
      const isBefore = page.reason === "missing" || page.reason === "ahead";
      if (isBefore && (await readFloor?.()) === cursor)
        this.#step({ type: "page", entries: [], more: false });
      else this.#step({ type: "over", reason: page.reason });
    });
  }

  #finish(reason: FollowEndReason): void {
    this.#end = reason;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#onReady();
  }

  /** Retries while the engine is unreachable, for up to `timeoutMs`. */
  async #persist(work: () => Promise<void>): Promise<void> {
    const attempt = async (): Promise<void> => {
      if (!this.#isOver) await work();
    };
    try {
      await retry(attempt, {
        isRetryable: (error) => isLogError(error, "UNAVAILABLE"),
        timeoutMs: this.#settings.timeoutMs,
        initialDelayMs: RETRY_EVERY_MS,
      });
    } catch (error) {
      if (isLogError(error, "UNAVAILABLE")) return this.#step({ type: "over", reason: "unavailable" });
      if (!this.#isOver) this.#failure = { error };
      this.stop();
    }
  }
}
