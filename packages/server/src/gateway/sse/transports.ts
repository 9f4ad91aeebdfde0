/**
 * `startEventStream` and `toWebStream` connect an `EventStream` to a Node response or to a web stream.
 * Invariant: each connection reports `transportDrained` and `onClose` to its stream, also if the client disconnects
 * and the platform does not cancel the body. A disconnect is never an error of the host. The web stream copies the
 * bytes, because its reader can transfer them and other connections share them.
 */
import type { ServerResponse } from "node:http";
import type { Transport } from "../connection/send-queue.ts";
import { EVENT_STREAM_HEADERS, EventStream, type EventStreamOptions } from "./event-stream.ts";

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
