/** A WebSocket as a transport: ready-made frames go straight to the connection below it. Never makes a frame. */
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

  /** After a close frame nothing may follow: it is discarded, and the owner is notified of the close. */
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
 * Writes that leave together: a socket that is written to several times in one tick makes one call to the system. One
 * callback for all the sockets of a tick, not one each.
 */
let corked: Writable[] = [];

/** @returns what `write` returns: false when the socket's buffer is full */
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
