/** An event stream as the answer of Node's HTTP server, with or without Fastify before it. */
import type { ServerResponse } from "node:http";
import type { Transport } from "../connection/send-queue.ts";
import { EVENT_STREAM_HEADERS, EventStream, type EventStreamOptions } from "./event-stream.ts";

class ResponseTransport implements Transport {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get held(): number {
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

/** @param headers beside those of every event stream */
export function startEventStream(
  response: ServerResponse,
  head: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
  options: EventStreamOptions,
): void {
  if (response.destroyed) return;
  response.writeHead(head.status, { ...head.headers, ...EVENT_STREAM_HEADERS });
  const stream = new EventStream(new ResponseTransport(response), options);
  response.on("drain", () => stream.outlet.transportDrained());
  response.on("close", () => stream.onClose());
  // It is followed by `close`; without a listener it would end the process.
  response.on("error", () => undefined);
}

/** An event stream as the body of a `Response`, for whatever server calls the plain handler. */
/** What the stream holds itself, beyond what waits in the queue before it. */
const HELD_BYTES = 32 * 1024;

class ControllerTransport implements Transport {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;
  /** The platform tells nobody when a stream of ours has ended. */
  readonly #ended: () => void;

  constructor(controller: ReadableStreamDefaultController<Uint8Array>, ended: () => void) {
    this.#controller = controller;
    this.#ended = ended;
  }

  get held(): number {
    return HELD_BYTES - (this.#controller.desiredSize ?? HELD_BYTES);
  }

  write(bytes: Uint8Array): boolean {
    // A copy: who reads a stream may give its bytes away, and these are others' too.
    this.#controller.enqueue(new Uint8Array(bytes));
    return (this.#controller.desiredSize ?? 0) > 0;
  }

  end(): void {
    this.#controller.close();
    this.#ended();
  }

  destroy(): void {
    this.#controller.error(new Error("The server has ended this stream."));
    this.#ended();
  }
}

/** @param left the client has: not every server cancels the body then, and some never begin to read it */
export function toWebStream(options: EventStreamOptions, left: AbortSignal): ReadableStream<Uint8Array> {
  let stream: EventStream | undefined;
  let isOver = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const ended = () => {
          isOver = true;
          queueMicrotask(() => stream?.onClose());
        };
        stream = new EventStream(new ControllerTransport(controller, ended), options);
        // Closed and not failed: that somebody leaves is nothing for a host to complain of.
        const leave = () => {
          if (!isOver) controller.close();
          isOver = true;
          stream?.onClose();
        };
        if (left.aborted) leave();
        else left.addEventListener("abort", leave, { once: true });
      },
      pull: () => stream?.outlet.transportDrained(),
      cancel() {
        isOver = true;
        stream?.onClose();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: HELD_BYTES }),
  );
}
