/**
 * `EventStream` is one event stream: it sends keep-alive comments and closes the stream when it stalls. `startEventStream`
 * connects it to a Node response, and `toWebStream` to a web stream.
 * Invariant: the first bytes are a comment, so that the client receives the response head. It is registered from its
 * start until `onClose`, which takes effect once, however the stream ends, also if the platform does not cancel the body
 * of a client that disconnects. A disconnect is never an error of the host. Keep-alives are sent only if nothing is
 * queued. A shutdown sends `retry:` before the dialect's final frames.
 */
import type { ServerResponse } from "node:http";
import { formatSseComment } from "@turnstream/protocol/writer";
import type { Caller } from "../caller.ts";
import type { Connection, ConnectionRegistry, DisconnectReason } from "../connection/connection-registry.ts";
import { SendQueue, type Transport } from "../connection/send-queue.ts";
import type { SinkEvents, StreamEvents } from "../connection/frame-sink.ts";
import type { StreamHandler } from "../context.ts";
import type { GatewayLimits } from "../gateway-limits.ts";

export interface EventStreamOptions {
  readonly caller: Caller;
  readonly connections: ConnectionRegistry;
  readonly limits: GatewayLimits;
  readonly open: StreamHandler;
  /** Called once, when the stream has ended or was never started. */
  readonly onClosed: () => void;
  /** From 0 to 1: spreads the reconnects after a restart. */
  readonly random: () => number;
}

/** Range of the delay before clients reconnect after a restart. */
const RETRY_AFTER_MS = { min: 500, max: 3_000 };

class EventStream implements Connection, SinkEvents {
  readonly caller: Caller;
  readonly queue: SendQueue;
  readonly #options: EventStreamOptions;
  readonly #events: StreamEvents;
  #isClosed = false;
  #writes = 0;
  #writtenAt = performance.now();

  constructor(transport: Transport, options: EventStreamOptions) {
    this.caller = options.caller;
    this.#options = options;
    this.queue = new SendQueue(transport, this);
    this.queue.send(OPEN_COMMENT);
    this.#events = options.open(this.queue);
    options.connections.add(this);
  }

  get bufferedBytes(): number {
    return this.queue.bufferedBytes;
  }

  onFlush(): void {
    this.#events.onFlush();
  }

  onDrain(): void {
    this.#events.onDrain();
  }

  onClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.connections.delete(this);
    this.queue.markClosed();
    this.#events.onClose();
    this.#options.onClosed();
  }

  onHeartbeat(now: number): void {
    const { sseKeepAliveMs, stallTimeoutMs } = this.#options.limits;
    if (this.queue.isStalled(now, stallTimeoutMs)) return this.destroy();
    if (this.queue.writes !== this.#writes) {
      this.#writes = this.queue.writes;
      this.#writtenAt = now;
    } else if (now - this.#writtenAt >= sseKeepAliveMs - this.#options.connections.heartbeatMs)
      this.queue.sendIfIdle(KEEP_ALIVE);
    this.#events.onHeartbeat(now);
  }

  close(reason: DisconnectReason): void {
    if (reason === "unauthenticated") return this.#events.fail("UNAUTHENTICATED");
    const { min, max } = RETRY_AFTER_MS;
    this.queue.sendReliable(retryFrame(Math.round(min + (max - min) * this.#options.random())));
    this.#events.onShutdown();
  }

  destroy(): void {
    this.queue.destroy();
    this.onClose();
  }
}

/** The last two prevent proxies from buffering or changing the stream. */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Sent immediately, so that the client receives the response head and knows that it is connected. */
const OPEN_COMMENT = Buffer.from(formatSseComment("open"));
const KEEP_ALIVE = Buffer.from(formatSseComment("keep-alive"));

/** Announces the shutdown and asks the client to reconnect after `afterMs`. */
function retryFrame(afterMs: number): Buffer {
  return Buffer.from(`: the server restarts\nretry: ${afterMs}\n\n`);
}

class ResponseTransport implements Transport {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  write(bytes: Uint8Array): boolean {
    return this.#response.writable ? this.#response.write(bytes) : true;
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#response.destroy();
  }
}

/** @param head status and headers, in addition to those of every event stream */
export function startEventStream(
  response: ServerResponse,
  head: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
  options: EventStreamOptions,
): void {
  if (response.destroyed) {
    options.onClosed();
    return;
  }
  response.writeHead(head.status, { ...head.headers, ...EVENT_STREAM_HEADERS });
  const stream = new EventStream(new ResponseTransport(response), options);
  response.on("drain", () => stream.queue.transportDrained());
  response.on("close", () => stream.onClose());
  // A `close` event follows. Without a listener, the error would terminate the process.
  response.on("error", () => undefined);
}

/** Buffer size of the web stream, in addition to the send queue. */
const HIGH_WATER_MARK = 32 * 1024;

class ControllerTransport implements Transport {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;
  /** Called when this side ends the stream, because the platform does not report that. */
  readonly #onEnd: () => void;

  constructor(controller: ReadableStreamDefaultController<Uint8Array>, onEnd: () => void) {
    this.#controller = controller;
    this.#onEnd = onEnd;
  }

  get bufferedBytes(): number {
    return HIGH_WATER_MARK - (this.#controller.desiredSize ?? HIGH_WATER_MARK);
  }

  write(bytes: Uint8Array): boolean {
    // Copy the bytes: a reader can transfer them, and they are shared with other connections.
    this.#controller.enqueue(new Uint8Array(bytes));
    return (this.#controller.desiredSize ?? 0) > 0;
  }

  end(): void {
    this.#controller.close();
    this.#onEnd();
  }

  destroy(): void {
    this.#controller.error(new Error("The server has ended this stream."));
    this.#onEnd();
  }
}

/** @param signal aborted when the client disconnects. Not every server cancels the body, and some never read it. */
export function toWebStream(options: EventStreamOptions, signal: AbortSignal): ReadableStream<Uint8Array> {
  let stream: EventStream | undefined;
  let isClosed = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const onEnd = () => {
          isClosed = true;
          queueMicrotask(() => stream?.onClose());
        };
        stream = new EventStream(new ControllerTransport(controller, onEnd), options);
        // Close instead of failing: a client that disconnects is not an error of the host.
        const close = () => {
          if (!isClosed) controller.close();
          isClosed = true;
          stream?.onClose();
        };
        if (signal.aborted) close();
        else signal.addEventListener("abort", close, { once: true });
      },
      pull: () => stream?.queue.transportDrained(),
      cancel() {
        isClosed = true;
        stream?.onClose();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: HIGH_WATER_MARK }),
  );
}
