/**
 * `createServer` runs the gateway as a standalone HTTP server: Fastify with the gateway plugin and two health routes.
 * To embed the gateway in an app, use `createGateway` instead.
 * Invariant: log lines contain no headers, no query and no credentials, so `redactPath` must know every route with a
 * secret in its path. Every error, also for data that is not HTTP, has the protocol's error format. `close` reports
 * "not ready", closes the gateway first, and never closes the store, log or signals.
 */
import type { AddressInfo, Socket } from "node:net";
import {
  fastify,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from "fastify";
import { systemEnv } from "../util/env.ts";
import { RequestError } from "./errors.ts";
import { createGateway, type GatewayStats } from "./gateway.ts";
import { fromFastifyError, sendResponse } from "./http/fastify-plugin.ts";
import { errorResponse } from "./http/handle-request.ts";
import { registerHealthRoutes } from "./http/health.ts";
import type { HttpResponse } from "./http/http-messages.ts";
import { nodeHeaders } from "./http/node-request.ts";
import type { GatewayOptions } from "./options.ts";
import { createSecurityLog, createSecurityReporter } from "../util/security-event.ts";
import { writeRawResponse } from "./ws/upgrade.ts";
import { defined } from "../util/defined.ts";

export interface ServerOptions extends GatewayOptions {
  /**
   * Only `createServer`. Logs one line per response, and a bounded number of lines for [security
   * events](security-events.md). The lines contain no headers and no query strings. In the path of a share link, file
   * URL or checkout page, `*` replaces the part that gives access.
   */
  readonly logger?: FastifyBaseLogger | undefined;
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
const REQUEST_TIMEOUT_MS = 300_000;

/**
 * Length of the accept queue. When many clients reconnect at once, connections beyond it are refused or delayed by a
 * second. The operating system may enforce a lower limit.
 */
const BACKLOG = 4_096;

export function createServer({ logger, page, ...options }: ServerOptions): Server {
  const gateway = createGateway(withSecurityLog(options, logger));
  const app = createApp({ ...options, logger, page });
  const sockets = trackSockets(app);
  let isClosing = false;
  void app.register(gateway.plugin);
  registerHealthRoutes(app, options, () => isClosing);
  return {
    async listen(port = 0, host = "127.0.0.1") {
      await app.listen({ port, host, backlog: BACKLOG });
      return getUrl(app);
    },
    get url() {
      return getUrl(app);
    },
    stats: () => gateway.stats(),
    async close() {
      isClosing = true;
      await gateway.close();
      // Requests in progress may finish within the timeout.
      const timer = setTimeout(() => app.server.closeAllConnections(), SHUTDOWN_TIMEOUT_MS);
      // The connection of an event stream becomes idle only after its last bytes are sent. Without this, it would stay
      // open until the timeout above.
      const closeIdle = setInterval(() => {
        app.server.closeIdleConnections();
        // Browsers open connections before they need them. Node doesn't count a connection without a request as idle.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      }, CLOSE_IDLE_INTERVAL_MS);
      await app.close();
      clearTimeout(timer);
      clearInterval(closeIdle);
    },
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

function trackSockets({ server }: FastifyInstance): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

function createApp({ logger, page, onError = () => undefined }: ServerOptions): FastifyInstance {
  const notFound = errorResponse({ onError }, new RequestError("NOT_FOUND", "No route matches this path."));
  const badUrl = errorResponse({ onError }, new RequestError("BAD_REQUEST", "The URL is malformed."));
  const app = fastify({
    // Fastify's own log lines contain complete URLs, including tokens.
    logController: new LogController({ disableRequestLogging: true }),
    ...defined({ loggerInstance: logger }),
    forceCloseConnections: "idle",
    // Limits how long receiving a request may take. Sending the response is not limited.
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Java and curl offer an upgrade to HTTP/2 with their requests. Ignoring the offer handles them as HTTP/1.1
    // requests.
    http: { shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket" },
    clientErrorHandler: (error, socket) => {
      if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
      else writeRawResponse(socket, malformedRequestResponse(error.code));
    },
    frameworkErrors: (_error, _request, reply) => void sendResponse(reply, badUrl),
  });
  app.setNotFoundHandler(async (request, reply) => {
    const found = request.method === "GET" && page !== undefined ? await page(toPageRequest(request)) : null;
    return found === null ? sendResponse(reply, notFound) : reply.send(found);
  });
  app.setErrorHandler((error, _request, reply) =>
    sendResponse(reply, errorResponse({ onError }, fromFastifyError(error))),
  );
  if (logger !== undefined)
    app.addHook("onResponse", async (request, reply) => {
      const { method, url } = request;
      const ms = Math.round(reply.elapsedTime);
      logger.info({ method, path: redactPath(url), status: reply.statusCode, ms }, "answered");
    });
  return app;
}

function toPageRequest({ url, host, raw }: FastifyRequest): Request {
  // The Host header or the path may be malformed.
  const address = URL.parse(`http://${host}${url}`) ?? new URL("http://localhost/");
  return new Request(address, { headers: [...nodeHeaders(raw)] });
}

function getUrl(app: FastifyInstance): string {
  const address = app.server.address() as AddressInfo | null;
  if (address === null) throw new TypeError("The server has no URL before listen() has resolved.");
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

const TOKEN = /\/(blobs|shares|payments\/(?:checkout|return|status))\/[^/?#]+/gi;
/** An encoded letter, digit, `-`, `.`, `_`, `~` or `%`. No client encodes one of the first, and no route has a `%`. */
const DISGUISED = /%(?:2[5DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE]).*$/is;

/**
 * Returns a URL for logs: without its query and without the tokens in its path. A path in an unusual spelling is cut,
 * because it can hide the name before a token. Pure.
 */
export function redactPath(url: string): string {
  return url
    .replace(/[?#].*$/s, "")
    .replaceAll(TOKEN, "/$1/*")
    .replace(DISGUISED, "*");
}

/**
 * Creates the error response for data that Node could not parse as a request. Pure.
 * @param code the code of Node's error
 */
function malformedRequestResponse(code: string | undefined): HttpResponse {
  if (code === "HPE_HEADER_OVERFLOW")
    return {
      ...toResponse(new RequestError("TOO_LARGE", "The headers or the URL are too long.")),
      status: 431,
    };
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return {
      ...toResponse(new RequestError("BAD_REQUEST", "The request was not received in time.")),
      status: 408,
    };
  return toResponse(new RequestError("BAD_REQUEST", "This is not a valid HTTP/1.1 request."));
}

function toResponse(error: RequestError): HttpResponse {
  return errorResponse({ onError: () => undefined }, error);
}
