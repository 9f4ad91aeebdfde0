/**
 * Writes that leave together: a socket that is written to several times in one tick makes one call to the system. One
 * callback for all the sockets of a tick, not one each.
 */
import type { Writable } from "node:stream";

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
