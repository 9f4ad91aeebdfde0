/**
 * `createServer` runs the gateway as a standalone HTTP server, with two health routes and an optional page. To add the
 * gateway to a server of your app, use `createGateway` instead.
 * Invariant: log lines contain no headers, no query and no credentials, so a secret in a path must be a
 * parameter `{token}` of its route. Every error, also for data that is not HTTP, has the protocol's error format. `close` reports
 * "not ready", closes the gateway first, and never closes the store, log or signals.
 */
import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ErrorCode } from "@turnstream/protocol";
import { systemEnv } from "../util/env.ts";
import { RequestError } from "./errors.ts";
import { createGateway, type GatewayStats } from "./gateway.ts";
import { errorResponse } from "./http/handle-request.ts";
import { createHealthCheck } from "./http/health.ts";
import type { Route } from "./http/route.ts";
import { ROUTES } from "./http/routes/index.ts";
import type { HttpResponse } from "./http/http-messages.ts";
import { nodeHeaders } from "./http/node-request.ts";
import { answerSafely, sendPage, sendResponse } from "./http/send-response.ts";
import type { GatewayOptions } from "./options.ts";
import { createSecurityLog, createSecurityReporter } from "../util/security-event.ts";
import { writeRawResponse } from "./ws/upgrade.ts";

/** Writes log lines, such as a logger of pino. */
export interface ServerLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ServerOptions extends GatewayOptions {
  /**
   * Only `createServer`. Logs one line per response, and a bounded number of lines for [security
   * events](security-events.md). The lines contain no headers and no query strings. In the path of a share link, file
   * URL or checkout page, `*` replaces the part that gives access.
   */
  readonly logger?: ServerLogger | undefined;
  /**
   * Only `createServer`. Gets each GET `Request` that no route handles, without a body, and returns its `Response`, or
   * null for 404. It lets one server have the page and the API.
   */
  readonly page?: ((request: Request) => Response | null | Promise<Response | null>) | undefined;
}

export interface Server {
  /**
   * Starts listening. By default on a free port of 127.0.0.1.
   * @returns the server's URL
   */
  listen(port?: number, host?: string): Promise<string>;
  /** Throws before the server listens. */
  readonly url: string;
  stats(): GatewayStats;
  /** Closes every connection and stops listening. Does not close the store, log or signals that were passed in. */
  close(): Promise<void>;
}

const SHUTDOWN_TIMEOUT_MS = 5_000;
const CLOSE_IDLE_INTERVAL_MS = 50;
/** Limits how long receiving a request may take. Sending the response is not limited. */
const REQUEST_TIMEOUT_MS = 300_000;
/** Longer than a proxy keeps a connection without requests, so that it never sends one to a connection that closes. */
const KEEP_ALIVE_MS = 72_000;

/**
 * Length of the accept queue. When many clients reconnect at once, connections beyond it are refused or delayed by a
 * second. The operating system may enforce a lower limit.
 */
const BACKLOG = 4_096;

export function createServer({ logger, page, ...options }: ServerOptions): Server {
  const gateway = createGateway(withSecurityLog(options, logger));
  let closing: Promise<void> | null = null;
  const isClosing = (): boolean => closing !== null;
  const server = listenFor(createHealthCheck(options, isClosing), { ...options, page });
  gateway.attach(server);
  // A client then sends its next request to another process. Added after `attach`, which passes no request of the gateway
  // to earlier listeners.
  server.on("request", (_, outgoing) => void (outgoing.shouldKeepAlive &&= !isClosing()));
  server.on("clientError", answerMalformed);
  if (logger !== undefined) {
    const ofFeatures = (options.features ?? []).flatMap(({ routes = [] }) => routes);
    logResponses(server, logger, createPathRedactor([...ROUTES, ...ofFeatures]));
  }
  const sockets = trackSockets(server);
  const close = async (): Promise<void> => {
    await gateway.close();
    if (!server.listening) return;
    // Requests in progress may finish within the timeout.
    const timer = setTimeout(() => server.closeAllConnections(), SHUTDOWN_TIMEOUT_MS);
    // The connection of an event stream becomes idle only after its last bytes are sent. Without this, it would stay
    // open until the timeout above.
    const closeIdle = setInterval(() => {
      server.closeIdleConnections();
      // Browsers open connections before they need them. Node doesn't count a connection without a request as idle.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    }, CLOSE_IDLE_INTERVAL_MS);
    await once(server.close(), "close");
    clearTimeout(timer);
    clearInterval(closeIdle);
  };
  return {
    async listen(port = 0, host = "127.0.0.1") {
      if (closing !== null) throw new TypeError("The server is closed.");
      await once(server.listen({ port, host, backlog: BACKLOG }), "listening");
      return getUrl(server);
    },
    get url() {
      return getUrl(server);
    },
    stats: () => gateway.stats(),
    close: () => (closing ??= close()),
  };
}

/** Adds the log lines of security events to the app's own hook. */
function withSecurityLog(options: GatewayOptions, logger: ServerOptions["logger"]): GatewayOptions {
  const { onSecurityEvent, secrets, env = systemEnv, onError = () => undefined } = options;
  if (logger === undefined) return options;
  const log = createSecurityLog((line) => logger.warn(line, "security event"), {
    // The options are validated later.
    secret: secrets?.[0],
    now: () => env.now(),
  });
  return { ...options, onSecurityEvent: createSecurityReporter([onSecurityEvent, log], onError) };
}

function trackSockets(server: HttpServer): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

/** The server of all paths that are not the gateway's. */
function listenFor(
  checkHealth: ReturnType<typeof createHealthCheck>,
  { page, onError = () => undefined }: Pick<ServerOptions, "page" | "onError">,
): HttpServer {
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method, url = "/" } = incoming;
    const isRead = method === "GET" || method === "HEAD";
    const health = isRead ? await checkHealth(url.replace(/[?#].*$/s, "")) : null;
    if (health !== null) return sendResponse(outgoing, health);
    const found = method === "GET" ? await page?.(toPageRequest(incoming)) : null;
    if (found !== null && found !== undefined) return sendPage(outgoing, found);
    throw new RequestError("NOT_FOUND", "No route matches this path.");
  };
  const options = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Java and curl offer an upgrade to HTTP/2 with their requests. Ignoring the offer handles them as HTTP/1.1
    // requests.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
  };
  return createHttpServer(
    options,
    (incoming, outgoing) => void answerSafely(outgoing, onError, () => answer(incoming, outgoing)),
  );
}

function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
  else writeRawResponse(socket, malformedRequestResponse(error.code));
}

function logResponses(server: HttpServer, logger: ServerLogger, redactPath: (url: string) => string): void {
  server.on("request", ({ method, url = "/" }, outgoing) => {
    const start = performance.now();
    outgoing.once("close", () => {
      const ms = Math.round(performance.now() - start);
      logger.info({ method, path: redactPath(url), status: outgoing.statusCode, ms }, "answered");
    });
  });
}

function toPageRequest(incoming: IncomingMessage): Request {
  // The Host header or the path may be malformed.
  const url = URL.parse(`http://${incoming.headers.host}${incoming.url}`);
  const isPlain = url !== null && url.username === "" && url.password === "";
  return new Request(isPlain ? url : "http://localhost/", { headers: [...nodeHeaders(incoming)] });
}

function getUrl(server: HttpServer): string {
  const address = server.address() as AddressInfo | null;
  if (address === null) throw new TypeError("The server has no URL before listen() has resolved.");
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

/** What stands before a token in the path of a route, such as `blobs`. */
const BEFORE_TOKEN = /\/([^{}]+)\/\{(?:token|share)\}/;
/** An encoded letter, digit, `-`, `.`, `_`, `~` or `%`. No client encodes one of the first, and no route has a `%`. */
const DISGUISED = /%(?:2[5DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE]).*$/is;

/**
 * Returns a function that makes a URL for logs: without its query and without the tokens in its path. A path in an unusual
 * spelling is cut, because it can hide the name before a token. Pure.
 */
export function createPathRedactor(routes: readonly Pick<Route, "path">[]): (url: string) => string {
  const names = new Set(routes.flatMap(({ path }) => BEFORE_TOKEN.exec(path)?.[1] ?? []));
  const token = new RegExp(`/(${[...names].join("|")})/[^/?#]+`, "gi");
  return (url) =>
    url
      .replace(/[?#].*$/s, "")
      .replaceAll(token, "/$1/*")
      .replace(DISGUISED, "*");
}

/**
 * Creates the error response for data that Node could not parse as a request. Pure.
 * @param code the code of Node's error
 */
function malformedRequestResponse(code: string | undefined): HttpResponse {
  if (code === "HPE_HEADER_OVERFLOW")
    return toResponse("TOO_LARGE", "The headers or the URL are too long.", 431);
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return toResponse("BAD_REQUEST", "The request was not received in time.", 408);
  return toResponse("BAD_REQUEST", "This is not a valid HTTP/1.1 request.", 400);
}

function toResponse(code: ErrorCode, message: string, status: number): HttpResponse {
  return { ...errorResponse({ onError: () => undefined }, new RequestError(code, message)), status };
}
