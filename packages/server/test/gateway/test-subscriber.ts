/**
 * `TestSubscriber` is a subscriber for tests of feeds: it has a bounded queue that can be blocked, and decodes what it
 * receives into frames. It knows the wire, not the dialects.
 */
import { createSseParser, type SseMessage } from "@turnstream/protocol";
import type { StreamFormat } from "../../src/gateway/encoding/stream-format.ts";
import type { SessionFeeds } from "../../src/gateway/feed/session-feeds.ts";
import type {
  Subscription,
  SubscriptionEndReason,
  SubscribedInfo,
  Subscriber,
} from "../../src/gateway/subscription/subscription.ts";
import type { FrameSink, SendResult } from "../../src/gateway/connection/frame-sink.ts";
import type { SessionRef } from "../../src/util/refs.ts";

export type Frame = Record<string, unknown>;

/** The format of a user. With `includeHidden`, that of a caller with the scope `debug`. */
export function streamFormat(
  dialect: StreamFormat["dialect"],
  wire: StreamFormat["wire"] = "socket",
  includeHidden = false,
): StreamFormat {
  return { dialect, wire, includeToolTags: false, includeHidden };
}

export class TestSubscriber implements Subscriber {
  readonly starts: (SubscribedInfo & { readonly after: number })[] = [];
  readonly frames: Frame[] = [];
  /** The number of bytes of each send. */
  readonly sends: number[] = [];
  end: SubscriptionEndReason | null = null;
  subscription: Subscription | null = null;
  readonly sink: FrameSink;
  readonly #choice: StreamFormat;
  readonly #maxQueued: number;
  readonly #discardFrames: boolean;
  #clogged = false;
  #dropped = false;
  /** Bytes, and start notices between them, which are never dropped. */
  #queue: (Uint8Array | (() => void))[] = [];

  constructor(of: StreamFormat, options: { maxQueued?: number; discardFrames?: boolean } = {}) {
    this.#choice = of;
    this.#maxQueued = options.maxQueued ?? 64 * 1024;
    this.#discardFrames = options.discardFrames ?? false;
    this.sink = { send: (bytes) => this.#send(bytes), end: () => undefined };
  }

  subscribe(feeds: SessionFeeds, ref: SessionRef, after: string | null, untilTurn?: string): this {
    const options = {
      format: this.#choice,
      after,
      ...(untilTurn === undefined ? {} : { untilTurnEnd: untilTurn }),
    };
    this.subscription = feeds.subscribe(ref, options, this);
    return this;
  }

  onSubscribed(info: SubscribedInfo): void {
    const record = () => void this.starts.push({ ...info, after: this.frames.length });
    if (this.#queue.length > 0) this.#queue.push(record);
    else record();
  }

  onEnd(reason: SubscriptionEndReason): void {
    this.end = reason;
  }

  /** The last cursor that the client has received. */
  get cursor(): string | null {
    const frame = this.frames.findLast((one) => cursorOf(one) !== null);
    return frame === undefined ? null : cursorOf(frame);
  }

  clog(): void {
    this.#clogged = true;
  }

  unclog(): void {
    this.#clogged = false;
    const queue = this.#queue;
    this.#queue = [];
    for (const one of queue) {
      if (typeof one === "function") one();
      else this.#read(one);
    }
    if (this.#dropped) {
      this.#dropped = false;
      this.subscription?.onDrain();
      return;
    }
    if (queue.length > 0) this.subscription?.onFlush();
  }

  get isDropped(): boolean {
    return this.#dropped;
  }

  close(): void {
    this.subscription?.onClose();
  }

  #send(bytes: Uint8Array): SendResult {
    this.sends.push(bytes.length);
    if (this.#dropped) return "dropped";
    if (!this.#clogged) {
      this.#read(bytes);
      return "written";
    }
    const queued = this.#queue.reduce((sum, one) => sum + (typeof one === "function" ? 0 : one.length), 0);
    if (this.#queue.length > 0 && queued + bytes.length > this.#maxQueued) {
      this.#queue = this.#queue.filter((one) => typeof one === "function");
      this.#dropped = true;
      return "dropped";
    }
    this.#queue.push(bytes);
    return "queued";
  }

  #read(bytes: Uint8Array): void {
    if (this.#discardFrames) return;
    this.frames.push(...readFrames(this.#choice, bytes));
  }
}

export function readFrames({ wire }: StreamFormat, bytes: Uint8Array): Frame[] {
  return wire === "sse" ? readSse(bytes) : readSocket(Buffer.from(bytes));
}

function cursorOf(frame: Frame): string | null {
  const cursor = frame["event_id"] ?? (frame["v"] === undefined ? undefined : frame["id"]);
  return typeof cursor === "string" ? cursor : null;
}

/** Parses whole WebSocket text frames of a server: not masked and not fragmented. */
function readSocket(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] !== 0x81) throw new Error(`not a text frame at ${at}`);
    let length = bytes[at + 1] as number;
    at += 2;
    if (length === 126) {
      length = bytes.readUInt16BE(at);
      at += 2;
    } else if (length === 127) {
      length = Number(bytes.readBigUInt64BE(at));
      at += 8;
    }
    frames.push(JSON.parse(bytes.toString("utf8", at, at + length)) as Frame);
    at += length;
  }
  return frames;
}

function readSse(bytes: Uint8Array): Frame[] {
  const frames: Frame[] = [];
  createSseParser(({ data, id }: SseMessage) => {
    const cursor = id === undefined ? {} : { event_id: id };
    if (data === "[DONE]") frames.push({ type: "[DONE]", ...cursor });
    else frames.push({ ...(JSON.parse(data) as Frame), ...cursor });
  }).push(Buffer.from(bytes).toString());
  return frames;
}

export async function until(test: () => boolean, timeoutMs = 60_000): Promise<void> {
  const late = AbortSignal.timeout(timeoutMs);
  while (!test()) {
    if (late.aborted) throw new Error("timed out");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Waits until no frame has arrived for some rounds of the event loop. */
export async function waitUntilIdle(subscriber: TestSubscriber): Promise<void> {
  for (let idleRounds = 0, last = -1; idleRounds < 5;) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    idleRounds = subscriber.sends.length === last ? idleRounds + 1 : 0;
    last = subscriber.sends.length;
  }
}
