/**
 * `Writer` appends the events of one claimed epoch. It collects deltas for a few milliseconds and sends them together
 * with those of other writers, or alone when there are enough. Any other event is sent immediately, together with the
 * deltas before it. `write` applies backpressure if the caller is faster than the log.
 *
 * Invariant: at most one append is in flight; later events form the next one. Blobs are stored before the append that
 * references them. After the first failed append or blob every call fails with the same error, and nothing more is
 * written. A draft that is too large fails only its own `write`.
 */
import type { Position } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "../../util/refs.ts";
import { retry } from "../../util/retry.ts";
import { isLogError } from "../errors.ts";
import type { AppendBatch, Log } from "../log.ts";
import { type BlobSink, splitOversized } from "./oversize.ts";
import { isDelta, PendingDeltas, type PendingBatch } from "./pending-deltas.ts";

export interface WriterOptions {
  readonly log: Log;
  readonly ref: SessionRef;
  /** The writer id of the claim. */
  readonly writer: string;
  readonly epoch: number;
  readonly blobs: BlobSink;
  readonly newBlobId: () => string;
  /** How long deltas are collected before they are sent. @default 50 */
  readonly batchDelayMs?: number;
  /** Size of the collected deltas, roughly in characters, at which they are sent immediately. @default 8_192 */
  readonly maxBatchSize?: number;
  /** Unsent size, roughly in characters, above which `write` waits. @default 262_144 */
  readonly highWaterMark?: number;
  /** How long an append or blob is retried before the writer fails. @default 20_000 */
  readonly retryTimeoutMs?: number;
  /** Longest delay between two attempts. @default 50 */
  readonly retryMs?: number;
}

/** Nothing was sent for this many delays: the model has paused. */
const PAUSE_FACTOR = 2;
/** How long a delta may wait for the deltas of other writers. */
const TICK_MS = 10;

export class Writer {
  readonly #options: Required<WriterOptions>;
  readonly #pending = new PendingDeltas();
  #counter = 0;
  /** How many tries had no answer. Each of them may still reach the log. */
  #generation = 0;
  /** How many drafts were accepted, and how many of them, counted from the first, are in the log. */
  #accepted = 0;
  #done = 0;
  #last: Position | null = null;
  #inFlight = 0;
  #sentAt = 0;
  #isDue = false;
  #sending: Promise<void> | null = null;
  #failure: Error | null = null;
  #relief: (() => void)[] = [];

  constructor(options: WriterOptions) {
    this.#options = {
      batchDelayMs: 50,
      maxBatchSize: 8_192,
      highWaterMark: 262_144,
      retryTimeoutMs: 20_000,
      retryMs: 50,
      ...options,
    };
  }

  /** Resolves when the writer can accept more. Only `flush` guarantees that the event is in the log. */
  async write(draft: EventDraft): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    this.#pending.add(splitOversized(draft, this.#options.newBlobId));
    this.#accepted++;
    if (!isDelta(draft) || this.#pending.size >= this.#options.maxBatchSize) this.#isDue = true;
    this.#schedule();
    while (this.waiting > this.#options.highWaterMark) {
      await new Promise<void>((resolve) => this.#relief.push(resolve));
      if (this.#failure !== null) throw this.#failure;
    }
  }

  /** Resolves when everything accepted so far is in the log. Returns the last position that this writer wrote. */
  async flush(): Promise<Position | null> {
    const accepted = this.#accepted;
    while (this.#failure === null && this.#done < accepted) {
      this.#isDue = true;
      this.#schedule();
      await this.#sending;
    }
    if (this.#failure !== null) throw this.#failure;
    return this.#last;
  }

  /** Approximate size in characters of the collected and the in-flight events. */
  get waiting(): number {
    return this.#pending.size + this.#inFlight;
  }

  #schedule(): void {
    if (this.#sending !== null || this.#pending.isEmpty || this.#failure !== null) return;
    // After a pause the first delta is sent immediately, because the user waits for it.
    const isAfterPause = performance.now() - this.#sentAt >= PAUSE_FACTOR * this.#options.batchDelayMs;
    if (!this.#isDue && !isAfterPause) return joinClock(this);
    leaveClock(this);
    this.#sending = this.#send();
  }

  /** Called at every tick while deltas are collected. */
  onTick(now: number): void {
    // A tick that is a moment early counts, because the next one would be much too late.
    if (now - this.#sentAt < this.#options.batchDelayMs - TICK_MS / 2) return;
    this.#isDue = true;
    this.#schedule();
  }

  async #send(): Promise<void> {
    const batch = this.#pending.take();
    const isAll = this.#pending.isEmpty;
    const accepted = this.#accepted;
    this.#isDue = !isAll;
    this.#inFlight = batch.size;
    this.#sentAt = performance.now();
    try {
      await this.#deliver(batch);
      if (isAll) this.#done = accepted;
    } catch (error) {
      this.#failure = error as Error;
    }
    this.#inFlight = 0;
    this.#sending = null;
    for (const resolve of this.#relief.splice(0)) resolve();
    this.#schedule();
  }

  async #deliver({ drafts, blobs }: PendingBatch): Promise<void> {
    const { log, ref, writer, epoch } = this.#options;
    for (const blob of blobs)
      await this.#persist(
        () => this.#options.blobs.put(ref, blob),
        () => true,
      );
    const batch: AppendBatch = { writer, epoch, counter: ++this.#counter, events: drafts };
    let repeat = false;
    await this.#persist(
      async () => {
        const { last } = await log.append(ref, { ...batch, isRetry: repeat, generation: this.#generation });
        this.#last = { epoch, seq: last };
      },
      (error) => {
        // The append may have happened, or happen later. `isRetry` makes the log look for it first.
        repeat = true;
        this.#generation++;
        return isLogError(error, "UNAVAILABLE");
      },
    );
  }

  async #persist(work: () => Promise<void>, isRetryable: (error: unknown) => boolean): Promise<void> {
    const { retryTimeoutMs, retryMs } = this.#options;
    await retry(work, { isRetryable, timeoutMs: retryTimeoutMs, initialDelayMs: retryMs });
  }
}

/**
 * The writers of this process with collected deltas. They send at common ticks: the appends of one tick are one write
 * to the connection, and their replies are read together. The timer runs only while a writer waits.
 */
const waitingWriters = new Set<Writer>();
let tickTimer: NodeJS.Timeout | null = null;

function joinClock(writer: Writer): void {
  waitingWriters.add(writer);
  tickTimer ??= setTimeout(tick, TICK_MS - (performance.now() % TICK_MS));
}

function leaveClock(writer: Writer): void {
  if (!waitingWriters.delete(writer) || waitingWriters.size > 0 || tickTimer === null) return;
  clearTimeout(tickTimer);
  tickTimer = null;
}

function tick(): void {
  tickTimer = null;
  const now = performance.now();
  for (const writer of waitingWriters) writer.onTick(now);
  if (waitingWriters.size > 0) tickTimer ??= setTimeout(tick, TICK_MS - (performance.now() % TICK_MS));
}
