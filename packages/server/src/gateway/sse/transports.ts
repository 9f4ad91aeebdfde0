/** An event stream as the answer of Node's HTTP server, with or without Fastify before it. */
import type { ServerResponse } from "node:http";
import type { Transport } from "../connection/send-queue.ts";
import { EventStream, type EventStreamOptions } from "./event-stream.ts";
import { EVENT_STREAM_HEADERS } from "./head.ts";

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
export function answerWithStream(
  response: ServerResponse,
  head: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
  options: EventStreamOptions,
): void {
  if (response.destroyed) return;
  response.writeHead(head.status, { ...head.headers, ...EVENT_STREAM_HEADERS });
  const stream = new EventStream(new ResponseTransport(response), options);
  response.on("drain", () => stream.outlet.transportDrained());
  response.on("close", () => stream.closed());
  // It is followed by `close`; without a listener it would end the process.
  response.on("error", () => undefined);
}
