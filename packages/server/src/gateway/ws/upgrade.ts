/**
 * `handleUpgrade` upgrades connections that `authorizeUpgrade` allows, and answers the others with an HTTP error.
 * `createSocketAcceptor` turns an authorized connection into a WebSocket.
 * Invariant: a connection for another path is left untouched. While the caller is authorized, an error of the
 * connection must not terminate the process. A compressed message uses no window of earlier ones, because sockets share
 * encoded bytes. `autoPong` stays off, because `SocketConnection` answers pings only as fast as the client reads.
 */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { hasScope } from "../auth/access.ts";
import type { Caller } from "../caller.ts";
import type { StreamFormat, DialectName } from "../encoding/stream-format.ts";
import { type HttpContext, errorResponse } from "../http/handle-request.ts";
import { API_PREFIX, type HttpResponse, SOCKET_PATH } from "../http/http-messages.ts";
import { authorizeUpgrade, type AuthorizedUpgrade } from "./authorize-upgrade.ts";
import { SocketConnection, type SocketContext } from "./socket-connection.ts";

/** Takes over an authorized connection. */
export type AcceptSocket = (
  authorized: AuthorizedUpgrade,
  upgrade: { readonly incoming: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
) => void;

/** @returns false if the URL does not belong to the gateway; the socket is then left untouched */
export function handleUpgrade(
  http: HttpContext,
  accept: AcceptSocket,
  { incoming, socket, head }: Parameters<AcceptSocket>[1],
  prefix: string,
): boolean {
  const [path, query] = (incoming.url ?? "").split("?", 2);
  if (path !== `${prefix}${API_PREFIX}${SOCKET_PATH}`) return false;
  void authorizeAndAccept(http, accept, new URLSearchParams(query), { incoming, socket, head });
  return true;
}

async function authorizeAndAccept(
  http: HttpContext,
  accept: AcceptSocket,
  search: URLSearchParams,
  upgrade: Parameters<AcceptSocket>[1],
): Promise<void> {
  const { incoming, socket } = upgrade;
  socket.on("error", ignore);
  try {
    const authorized = await authorizeUpgrade(http, incoming, {
      search,
      from: http.resolveClientAddress(incoming),
    });
    // The connection also closes if the handshake fails.
    socket.once("close", authorized.release);
    if (socket.destroyed) authorized.release();
    else accept(authorized, upgrade);
  } catch (error) {
    rejectUpgrade(http, socket, error);
  } finally {
    if (!socket.writableEnded) socket.off("error", ignore);
  }
}

/** The client can disconnect during authorization. */
function ignore(): void {}

export function rejectUpgrade(http: Pick<HttpContext, "context">, socket: Duplex, error: unknown): void {
  writeRawResponse(socket, errorResponse(http.context, error));
}

/** Writes an HTTP response without Node's response object, which does not exist for upgrades and malformed requests. */
export function writeRawResponse(socket: Duplex, { status, headers, body }: HttpResponse): void {
  const text = body !== null && "whole" in body ? body.whole : "";
  const lines = Object.entries({
    ...headers,
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  // The client may have disconnected. Without a listener, the error would terminate the process.
  socket.on("error", ignore);
  // Don't wait for the client to close the connection.
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${String(text)}`);
}

type SocketDialect = Exclude<DialectName, "responses">;

interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

const SOCKET: Omit<StreamFormat, "dialect"> = {
  wire: "socket",
  includeToolTags: false,
  includeHidden: false,
};
/** One format per dialect, shared by all sockets. */
const FORMATS: Readonly<Record<SocketDialect, StreamFormat>> = {
  blocks: { dialect: "blocks", ...SOCKET },
  native: { dialect: "native", ...SOCKET },
  tasks: { dialect: "tasks", ...SOCKET },
};
/** Only `native` has snapshots to compress, so sockets of other dialects share their bytes either way. */
const DEFLATED_NATIVE: StreamFormat = { ...FORMATS.native, wire: "deflate-socket" };

function selectFormat(caller: Caller, dialect: SocketDialect, isDeflated: boolean): StreamFormat {
  const format = dialect === "native" && isDeflated ? DEFLATED_NATIVE : FORMATS[dialect];
  return dialect === "native" && hasScope(caller, "debug") ? { ...format, includeHidden: true } : format;
}

/** A command with more fragments is rejected. */
const MAX_FRAGMENTS = 256;

/** Creates the function that turns an authorized connection into a WebSocket and registers it. */
export function createSocketAcceptor(
  sockets: SocketContext,
): (authorized: { readonly caller: Caller; readonly dialect: SocketDialect }, upgrade: Upgrade) => void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // `SocketConnection` answers pings itself, only as fast as the client reads.
    autoPong: false,
    // `ws` only negotiates this and reads compressed commands. The gateway compresses frames itself, without a window
    // per socket, so that sockets share encoded bytes.
    perMessageDeflate: { serverNoContextTakeover: true, clientNoContextTakeover: true },
    maxPayload: sockets.context.limits.maxBodyBytes,
    maxFragments: MAX_FRAGMENTS,
  });
  return ({ caller, dialect }, { incoming, socket, head }) => {
    server.handleUpgrade(incoming, socket, head, (webSocket) => {
      const stream = socket as Socket;
      const format = selectFormat(caller, dialect, webSocket.extensions !== "");
      sockets.connections.add(new SocketConnection(sockets, caller, format, webSocket, stream));
    });
  };
}
