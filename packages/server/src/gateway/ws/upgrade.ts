/** The upgrade of a connection to a socket: lets in whom `admit` admits, and answers the others by HTTP in the one shape. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Caller } from "../caller.ts";
import type { StreamFormat, DialectName } from "../encoding/stream-format.ts";
import { type HttpContext, errorResponse } from "../http/handle-request.ts";
import { API_PREFIX, type HttpResponse, SOCKET_PATH } from "../http/http-messages.ts";
import { authorizeUpgrade, type AuthorizedUpgrade } from "./authorize-upgrade.ts";
import { SocketConnection, type SocketContext } from "./socket-connection.ts";

/** Takes a connection over, from the upgrade on. */
export type AcceptSocket = (
  admitted: AuthorizedUpgrade,
  upgrade: { readonly incoming: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
) => void;

/** @returns whether the address is ours; anything else is left alone */
export function handleUpgrade(
  door: HttpContext,
  open: AcceptSocket,
  { incoming, socket, head }: Parameters<AcceptSocket>[1],
  prefix: string,
): boolean {
  const url = URL.parse(incoming.url ?? "", "http://here");
  if (url?.pathname !== `${prefix}${API_PREFIX}${SOCKET_PATH}`) return false;
  void letIn(door, open, url.searchParams, { incoming, socket, head });
  return true;
}

async function letIn(
  door: HttpContext,
  open: AcceptSocket,
  search: URLSearchParams,
  taken: Parameters<AcceptSocket>[1],
): Promise<void> {
  const { incoming, socket } = taken;
  socket.on("error", ignore);
  try {
    const admitted = await authorizeUpgrade(door, incoming, { search, from: door.addressOf(incoming) });
    if (!socket.destroyed) open(admitted, taken);
  } catch (error) {
    rejectUpgrade(door, socket, error);
  } finally {
    if (!socket.writableEnded) socket.off("error", ignore);
  }
}

/** Whoever leaves while we ask who they are. */
function ignore(): void {}

export function rejectUpgrade(door: Pick<HttpContext, "parts">, socket: Duplex, error: unknown): void {
  writeRawResponse(socket, errorResponse(door.parts, error));
}

/** Written by hand: at an upgrade, and for what is no request, Node gives the bare connection. */
export function writeRawResponse(socket: Duplex, { status, headers, body }: HttpResponse): void {
  const text = body !== null && "whole" in body ? body.whole : "";
  const lines = Object.entries({
    ...headers,
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  // Whoever has left hears nothing, and without a listener that would end the process.
  socket.on("error", ignore);
  // Whoever doesn't hang up is not waited for.
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${String(text)}`);
}

/** Makes a WebSocket of a connection whose owner was let in, and gives it to its keeper. Never decides who is let in. */
type SocketDialect = Exclude<DialectName, "responses">;

interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** One for each dialect, shared by all sockets. */
const CHOICES: Readonly<Record<SocketDialect, StreamFormat>> = {
  blocks: { dialect: "blocks", wire: "socket", includeToolTags: false },
  native: { dialect: "native", wire: "socket", includeToolTags: false },
  tasks: { dialect: "tasks", wire: "socket", includeToolTags: false },
};

/** A command in more pieces than that is no command. */
const MAX_FRAGMENTS = 256;

export function createSocketAcceptor(
  room: SocketContext,
): (admitted: { readonly caller: Caller; readonly dialect: SocketDialect }, upgrade: Upgrade) => void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // The connection answers pings itself, as many as are read.
    autoPong: false,
    // Each socket would hold a window of its own, and no two could share bytes.
    perMessageDeflate: false,
    maxPayload: room.parts.limits.maxBodyBytes,
    maxFragments: MAX_FRAGMENTS,
  });
  return ({ caller, dialect }, { incoming, socket, head }) => {
    server.handleUpgrade(incoming, socket, head, (opened) => {
      const under = socket as Socket;
      room.connections.add(new SocketConnection(room, caller, CHOICES[dialect], opened, under));
    });
  };
}
