/**
 * `SocketTransport` writes encoded WebSocket frames directly to the TCP connection. Does not encode frames.
 * Invariant: only whole frames are written, because `ws` writes its control frames to the same connection. No data
 * follows a close frame. Writes of one tick are corked and sent together.
 */
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type { WebSocket } from "ws";
import type { Transport } from "../connection/send-queue.ts";
import { CLOSE_CODES, type CloseReason } from "./close-codes.ts";

export class SocketTransport implements Transport {
  readonly #socket: WebSocket;
  readonly #stream: Socket;

  constructor(socket: WebSocket, stream: Socket) {
    this.#socket = socket;
    this.#stream = stream;
  }

  get bufferedBytes(): number {
    return this.#stream.writableLength;
  }

  /** Discards data after a close frame, because none may follow it. The owner is notified of the close. */
  write(bytes: Uint8Array): boolean {
    return this.#socket.readyState === this.#socket.OPEN ? writeCorked(this.#stream, bytes) : true;
  }

  end(): void {
    this.close("serverRestart");
  }

  close(reason: CloseReason): void {
    const { code, reason: text } = CLOSE_CODES[reason];
    this.#socket.close(code, text);
  }

  destroy(): void {
    this.#socket.terminate();
  }
}

/**
 * Corks sockets until the end of the tick, so that several writes to one socket need one system call. All sockets of a
 * tick share one callback.
 */
let corked: Writable[] = [];

/** @returns the result of `write`: false if the socket's buffer is full */
function writeCorked(socket: Writable, bytes: Uint8Array): boolean {
  if (socket.writableCorked === 0) {
    socket.cork();
    if (corked.push(socket) === 1) process.nextTick(uncorkAll);
  }
  return socket.write(bytes);
}

function uncorkAll(): void {
  const sockets = corked;
  corked = [];
  for (const socket of sockets) socket.uncork();
}
