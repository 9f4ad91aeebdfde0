/** A WebSocket as a transport: ready-made frames go straight to the connection under it. Never makes a frame. */
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Transport } from "../connection/send-queue.ts";
import { CLOSE_CODES, type CloseReason } from "./close-codes.ts";
import { writeCorked } from "../socket/corked.ts";

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
    const { code, words } = CLOSE_CODES[why];
    this.#socket.close(code, words);
  }

  destroy(): void {
    this.#socket.terminate();
  }
}
