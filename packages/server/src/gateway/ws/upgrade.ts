/**
 * `createUpgradeHandler` decides whether a client may open a socket, and turns its connection into a WebSocket. It answers
 * others with an HTTP error.
 * Invariant: the caller is authorized before the upgrade. Pages of origins that are not allowed are always rejected,
 * before any credential is checked. A ticket is accepted only with an origin and without other credentials, because
 * only pages use tickets. A connection for another path is left untouched. A compressed message uses no window of
 * earlier ones, because sockets share encoded bytes.
 */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { z } from "zod";
import { hasScope, requireScope } from "../auth/access.ts";
import { authenticate } from "../auth/authenticate.ts";
import { authenticateByTicket } from "../auth/tickets.ts";
import type { Caller } from "../caller.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import { RequestError } from "../errors.ts";
import { type HttpContext, errorResponse, isFromAllowedOrigin } from "../http/handle-request.ts";
import { API_PREFIX, type HttpResponse, SOCKET_PATH } from "../http/http-messages.ts";
import { nodeHeaders } from "../http/node-request.ts";
import { SocketConnection } from "./socket-connection.ts";

interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/**
 * @param prefix the path before `/api/v1`
 * @returns false if the URL does not belong to the gateway; the connection is then left untouched
 */
export type HandleUpgrade = (upgrade: Upgrade, prefix: string) => boolean;

/** A command with more fragments is rejected. */
const MAX_FRAGMENTS = 256;

export function createUpgradeHandler(http: HttpContext): HandleUpgrade {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // `SocketConnection` answers pings itself, only as fast as the client reads.
    autoPong: false,
    // `ws` only negotiates this and reads compressed commands. The gateway compresses frames itself, without a window
    // per socket, so that sockets share encoded bytes.
    perMessageDeflate: { serverNoContextTakeover: true, clientNoContextTakeover: true },
    maxPayload: http.context.limits.maxBodyBytes,
    maxFragments: MAX_FRAGMENTS,
  });
  return (upgrade, prefix) => {
    const [path, query] = (upgrade.incoming.url ?? "").split("?", 2);
    if (path !== `${prefix}${API_PREFIX}${SOCKET_PATH}`) return false;
    void authorizeAndAccept(http, server, new URLSearchParams(query), upgrade);
    return true;
  };
}

async function authorizeAndAccept(
  http: HttpContext,
  server: WebSocketServer,
  search: URLSearchParams,
  { incoming, socket, head }: Upgrade,
): Promise<void> {
  // An error of the connection must not terminate the process.
  socket.on("error", ignore);
  try {
    const { caller, dialect, release } = await authorize(http, incoming, search);
    // The connection also closes if the handshake fails.
    socket.once("close", release);
    if (socket.destroyed) return release();
    server.handleUpgrade(incoming, socket, head, (webSocket) => {
      const format = selectFormat(caller, dialect, webSocket.extensions !== "");
      http.connections.add(new SocketConnection(http, caller, format, webSocket, socket as Socket));
    });
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

/** `responses` is available as an event stream only. */
const SOCKET_DIALECTS = ["blocks", "native", "tasks"] as const;

type SocketDialect = (typeof SOCKET_DIALECTS)[number];

/** No other parameters: URLs appear in logs, so a key or token in the URL is rejected. */
const query = z.strictObject({
  dialect: z.enum(SOCKET_DIALECTS).default("blocks"),
  ticket: z.string().max(8_000).exactOptional(),
});

interface AuthorizedUpgrade {
  readonly caller: Caller;
  readonly dialect: SocketDialect;
  /** Counts the socket as closed. */
  readonly release: () => void;
}

/** @throws an error for `toErrorResponse` */
async function authorize(
  http: HttpContext,
  incoming: IncomingMessage,
  search: URLSearchParams,
): Promise<AuthorizedUpgrade> {
  const from = http.resolveClientAddress(incoming);
  const headers = nodeHeaders(incoming);
  if (!isFromAllowedOrigin(http, headers, { from, reason: "socket" }))
    throw new RequestError("FORBIDDEN", "Pages of this origin may not open sockets here.");
  const { dialect, ticket } = query.parse(Object.fromEntries(search));
  const { limiter } = http.context;
  const caller = await limiter.guardSignIn({ from, isGuessable: headers.has("x-api-key") }, () =>
    ticket === undefined
      ? authenticate(http.context, headers, from)
      : authenticatePage(http, ticket, headers, from),
  );
  requireScope(caller, "read");
  return { caller, dialect, release: await limiter.countRequest(caller, { opens: "sockets" }) };
}

/**
 * Only pages need tickets, and pages send an origin. A request without one may use a ticket that was copied from a URL.
 */
async function authenticatePage(
  { context }: HttpContext,
  ticket: string,
  headers: ReadonlyMap<string, string>,
  from: string,
): Promise<Caller> {
  if (!headers.has("origin")) {
    context.reportSecurityEvent({ type: "sign_in_refused", reason: "ticket_without_page" }, from);
    throw new RequestError(
      "FORBIDDEN",
      "Tickets are for web pages, but this request has no origin. Send a token in the authorization header.",
    );
  }
  return authenticateByTicket(context, ticket, headers, from);
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
