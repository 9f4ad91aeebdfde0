/** Makes a WebSocket of a connection whose owner was let in, and gives it to its keeper. Never decides who is let in. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Caller } from "../caller.ts";
import type { Choice, DialectName } from "../encoding/stream-format.ts";
import { SocketConnection, type SocketRoom } from "../ws/connection.ts";

type SocketDialect = Exclude<DialectName, "responses">;

interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** One for each dialect, shared by all sockets. */
const CHOICES: Readonly<Record<SocketDialect, Choice>> = {
  blocks: { dialect: "blocks", wire: "socket", includeToolTags: false },
  native: { dialect: "native", wire: "socket", includeToolTags: false },
  tasks: { dialect: "tasks", wire: "socket", includeToolTags: false },
};

/** A command in more pieces than that is no command. */
const MAX_FRAGMENTS = 256;

export function socketOpener(
  room: SocketRoom,
): (admitted: { readonly caller: Caller; readonly dialect: SocketDialect }, upgrade: Upgrade) => void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // The connection answers pings itself, as many as are read.
    autoPong: false,
    // Each socket would hold a window of its own, and no two could share bytes.
    perMessageDeflate: false,
    maxPayload: room.parts.limits.bodyBytes,
    maxFragments: MAX_FRAGMENTS,
  });
  return ({ caller, dialect }, { incoming, socket, head }) => {
    server.handleUpgrade(incoming, socket, head, (opened) => {
      const under = socket as Socket;
      room.connections.add(new SocketConnection(room, caller, CHOICES[dialect], opened, under));
    });
  };
}
