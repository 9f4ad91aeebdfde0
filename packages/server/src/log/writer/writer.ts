/**
 * The pen of the writer that holds a session's epoch. Deltas are gathered for a few milliseconds, or until there
 * is enough; anything else goes at once, with what was gathered before it. One append is under way at a time: what comes
 * meanwhile makes the next one. Whoever writes faster than the log takes is held up.
 *
 * The first refusal ends it: every later call fails with the same error, and nothing is written any more.
 */
import type { Position } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { retry } from "../../util/retry.ts";
import { isLogError } from "../errors.ts";
import type { AppendBatch, Log } from "../log.ts";
import { type BlobSink, splitOversized } from "./oversize.ts";
import { isDelta, PendingDeltas, type PendingBatch } from "./pending-deltas.ts";

export interface WriterOptions {
  readonly log: Log;
  readonly session: string;
  /** As claimed. */
  readonly writer: string;
  readonly epoch: number;
  readonly blobs: BlobSink;
  readonly newBlobId: () => string;
  /** How long deltas are gathered. */
  readonly batchDelayMs?: number;
  /** How much is gathered before it goes at once, roughly in characters. */
  readonly maxBatchSize?: number;
  /** How much may wait before `write` makes its caller wait. */
  readonly highWaterMark?: number;
  /** How long to try again while the log can't be reached. */
  readonly retryTimeoutMs?: number;
  readonly retryMs?: number;
}

export class Writer {
  readonly #options: Required<WriterOptions>;
  readonly #pending = new PendingDeltas();
  #counter = 0;
  /** How many drafts were taken in, and how many of these, from the first on, are in the log. */
  #accepted = 0;
  #done = 0;
  #last: Position | null = null;
  #inFlight = 0;
  #timer: NodeJS.Timeout | null = null;
  #sentAt = 0;
  #isDue = false;
  #sending: Promise<void> | null = null;
  #failure: Error | null = null;
  #relief: (() => void)[] = [];

  constructor(options: WriterOptions) {
    this.#options = {
      batchDelayMs: 30,
      maxBatchSize: 8_192,
      highWaterMark: 262_144,
      retryTimeoutMs: 20_000,
      retryMs: 50,
      ...options,
    };
  }

  /** Fulfilled once there is room for more. That the event is in the log is what `flush` tells. */
  async write(draft: EventDraft): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    this.#pending.add(splitOversized(draft, this.#options.newBlobId));
    this.#accepted++;
    if (!isDelta(draft) || this.#pending.size >= this.#options.maxBatchSize) this.#isDue = true;
    this.#schedule();
    while (this.#waiting > this.#options.highWaterMark) {
      await new Promise<void>((resolve) => this.#relief.push(resolve));
      if (this.#failure !== null) throw this.#failure;
    }
  }

  /** Fulfilled once everything written so far is in the log; tells the last position that this writer wrote. */
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

  /** How much waits, roughly in characters: what is gathered, and what is under way. */
  get waiting(): number {
    return this.#waiting;
  }

  get #waiting(): number {
    return this.#pending.size + this.#inFlight;
  }

  #schedule(): void {
    if (this.#sending !== null || this.#pending.isEmpty || this.#failure !== null) return;
    // After a pause the first delta goes at once: people wait for it.
    const wait = this.#isDue ? 0 : this.#sentAt + this.#options.batchDelayMs - performance.now();
    if (wait <= 0) {
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      this.#sending = this.#send();
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.#isDue = true;
        this.#schedule();
      }, wait);
    }
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
    const { log, session, writer, epoch } = this.#options;
    for (const blob of blobs)
      await this.#persist(
        () => this.#options.blobs.put(session, blob),
        () => true,
      );
    const batch: AppendBatch = { writer, epoch, counter: ++this.#counter, events: drafts };
    let repeat = false;
    await this.#persist(
      async () => {
        const { last } = await log.append(session, { ...batch, isRetry: repeat });
        this.#last = { epoch, seq: last };
      },
      (error) => {
        // Nobody knows whether it happened: the log finds out when it is asked again.
        repeat = true;
        return isLogError(error, "UNAVAILABLE");
      },
    );
  }

  async #persist(work: () => Promise<void>, isRetryable: (error: unknown) => boolean): Promise<void> {
    const { retryTimeoutMs, retryMs } = this.#options;
    await retry(work, { isRetryable, timeoutMs: retryTimeoutMs, initialDelayMs: retryMs });
  }
}
