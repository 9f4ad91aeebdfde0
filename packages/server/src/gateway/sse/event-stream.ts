/**
 * `EventStream` is one event stream over any transport: it sends keep-alive comments and closes the stream when it
 * stalls. Does not interpret the content.
 * Invariant: the first bytes are a comment, so that the client receives the response head. It is registered from its
 * start until `onClose`, which takes effect once, however the stream ends. Keep-alives are sent only if nothing is
 * queued. A shutdown sends `retry:` before the dialect's final frames.
 */
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

export class EventStream implements Connection, SinkEvents {
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
