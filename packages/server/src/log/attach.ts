/**
 * The shell of `follow.ts`: subscribes, reads, and hands what comes to one reader, as an async iterable.
 * Holds a bounded number of entries for a reader who is slow, and reads on from the log when it comes back.
 */
import { formatCursor, parseCursor, type Position } from "@turnstream/protocol";
import type { LogEngine, News } from "./engine.ts";
import type { LogEntry } from "./entry.ts";
import { isLogError } from "./errors.ts";
import { follow, type FollowEffect, type Following, type FollowInput, startFollowing } from "./follow.ts";
import type { AttachOptions, BadCursorReason, Delivery, EndReason, ReadAnswer, ReadRange } from "./log.ts";

export interface AttachSettings {
  /** How much waits for a slow reader, roughly in bytes, before it is let go and read again later. */
  readonly maxQueued: number;
  readonly pageSize: number;
  /** How long the engine may stay out of reach before the reader is told. */
  readonly giveUpAfterMs: number;
  readonly retryEveryMs: number;
}

const DEFAULTS: AttachSettings = {
  maxQueued: 1_000_000,
  pageSize: 500,
  giveUpAfterMs: 30_000,
  retryEveryMs: 100,
};

interface Source extends AttachOptions {
  readonly engine: LogEngine;
  readonly read: (session: string, range: ReadRange) => Promise<ReadAnswer>;
  readonly session: string;
}

export async function* attach(
  source: Source,
  options: Partial<AttachSettings> = {},
): AsyncGenerator<Delivery, void, undefined> {
  const after = parseCursor(source.after);
  if (after === null) {
    yield { type: "end", reason: "malformed" };
    return;
  }
  const follower = new Follower(source, after, { ...DEFAULTS, ...options });
  const stop = () => follower.stop();
  source.signal?.addEventListener("abort", stop, { once: true });
  if (source.signal?.aborted === true) follower.stop();
  try {
    follower.start();
    while (true) {
      const delivery = follower.take() ?? (await follower.wait());
      if (delivery === null) return;
      yield delivery;
      if (delivery.type === "end") return;
    }
  } finally {
    source.signal?.removeEventListener("abort", stop);
    follower.stop();
  }
}

/** There is no log, or it ends before the position: it has to begin, or begin anew, right after what is archived. */
function isBefore(reason: BadCursorReason): boolean {
  return reason === "missing" || reason === "ahead";
}

class Follower {
  readonly #source: Source;
  readonly #settings: AttachSettings;
  readonly #floor: Position | null;
  #state: Following;
  #queue: readonly LogEntry[] = [];
  #queued = 0;
  #end: EndReason | null = null;
  #error: unknown = null;
  #stopped = false;
  /** A read that waits until the reader has taken what is queued. */
  #deferred: Position | null = null;
  #wake: (() => void) | null = null;
  #unsubscribe: (() => void) | null = null;
  #firstEffects: readonly FollowEffect[];

  constructor(source: Source, after: Position, settings: AttachSettings) {
    this.#source = source;
    this.#settings = settings;
    this.#floor = source.floor === undefined ? null : parseCursor(source.floor);
    const { state, effects } = startFollowing(after);
    this.#state = state;
    this.#firstEffects = effects;
  }

  start(): void {
    if (this.#stopped) return;
    void this.#persist(async () => {
      const unsubscribe = await this.#source.engine.subscribe(this.#source.session, (news) =>
        this.#hear(news),
      );
      if (this.#stopped) return unsubscribe();
      this.#unsubscribe = unsubscribe;
      this.#run(this.#firstEffects);
      this.#firstEffects = [];
    });
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#queue = [];
    this.#unsubscribe?.();
    this.#wake?.();
  }

  /** What there is to deliver now, or null. */
  take(): Delivery | null {
    if (this.#stopped) return null;
    if (this.#queue.length > 0) {
      const entries = this.#queue;
      this.#queue = [];
      this.#queued = 0;
      this.#readDeferred();
      return { type: "entries", entries };
    }
    return this.#end === null ? null : { type: "end", reason: this.#end };
  }

  async wait(): Promise<Delivery | null> {
    while (!this.#stopped) {
      const delivery = this.take();
      if (delivery !== null) return delivery;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = null;
    }
    if (this.#error !== null) throw this.#error;
    return null;
  }

  #hear(news: News): void {
    this.#step(news.type === "removed" ? { type: "over", reason: "removed" } : news);
  }

  #step(input: FollowInput): void {
    if (this.#stopped) return;
    const { state, effects } = follow(this.#state, input);
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
    this.#wake?.();
    // Too much waits: stop listening, and read on from here once the reader has taken it.
    if (this.#queued >= this.#settings.maxQueued && this.#state.phase === "live") {
      this.#step({ type: "suspect" });
    }
  }

  #read(after: Position): void {
    if (this.#queue.length > 0) {
      this.#deferred = after;
      return;
    }
    void this.#persist(async () => {
      const page = await this.#source.read(this.#source.session, {
        after: formatCursor(after),
        limit: this.#settings.pageSize,
      });
      if (page.ok) this.#step({ type: "page", entries: page.entries, more: page.more });
      else if (isBefore(page.reason) && this.#isFloor(after))
        this.#step({ type: "page", entries: [], more: false });
      else this.#step({ type: "over", reason: page.reason });
    });
  }

  #readDeferred(): void {
    const after = this.#deferred;
    this.#deferred = null;
    if (after !== null) this.#read(after);
  }

  #isFloor({ epoch, seq }: Position): boolean {
    return this.#floor?.epoch === epoch && this.#floor.seq === seq;
  }

  #finish(reason: EndReason): void {
    this.#end = reason;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#wake?.();
  }

  /** Tries again while the engine can't be reached, up to a limit. */
  async #persist(work: () => Promise<void>): Promise<void> {
    const { giveUpAfterMs, retryEveryMs } = this.#settings;
    const started = performance.now();
    while (!this.#stopped) {
      try {
        return await work();
      } catch (error) {
        if (!isLogError(error, "UNAVAILABLE")) return this.#fail(error);
        if (performance.now() - started > giveUpAfterMs)
          return this.#step({ type: "over", reason: "unavailable" });
        await new Promise((resolve) => setTimeout(resolve, retryEveryMs));
      }
    }
  }

  #fail(error: unknown): void {
    this.#error = error;
    this.stop();
  }
}
