/** A WebSocket as a transport: ready-made frames go straight to the connection under it. Never makes a frame. */
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type { WebSocket } from "ws";
import type { Transport } from "../connection/send-queue.ts";
import { CLOSE_CODES, type CloseReason } from "./close-codes.ts";

export class SocketTransport implements Transport {
  readonly #socket: WebSocket;
  readonly #under: Socket;

  constructor(socket: WebSocket, under: Socket) {
    this.#socket = socket;
    this.#under = under;
  }

  get held(): number {
    return this.#under.writableLength;
  }

  /** After a close frame nothing may follow: it goes nowhere, and the owner will hear that the socket is closed. */
  write(bytes: Uint8Array): boolean {
    return this.#socket.readyState === this.#socket.OPEN ? writeCorked(this.#under, bytes) : true;
  }

  end(): void {
    this.close("restart");
  }

  close(why: CloseReason): void {
    const { code, reason } = CLOSE_CODES[why];
    this.#socket.close(code, reason);
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

/** @returns what `write` says: false when the socket holds enough */
export function writeCorked(socket: Writable, bytes: Uint8Array): boolean {
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
