/**
 * `createServer` runs the gateway as a server of its own: Fastify with the plugin, and two health routes. To embed the
 * gateway into an app, use `createGateway` instead.
 */
import type { AddressInfo } from "node:net";
import { fastify, type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { RequestError } from "./errors.ts";
import { createGateway, type GatewayStats } from "./gateway.ts";
import { fromFastifyError, sendResponse } from "./http/fastify-plugin.ts";
import { errorResponse } from "./http/handle-request.ts";
import { registerHealthRoutes } from "./http/health.ts";
import type { HttpResponse } from "./http/http-messages.ts";
import type { GatewayOptions } from "./options.ts";
import { writeRawResponse } from "./ws/upgrade.ts";

export interface ServerOptions extends GatewayOptions {
  /** Gets one line for each response, without headers and without the tokens that are in addresses. */
  readonly logger?: FastifyBaseLogger;
}

export interface Server {
  /** @returns its URL. Default: a free port of this machine. */
  listen(port?: number, host?: string): Promise<string>;
  /** Throws before it listens. */
  readonly url: string;
  stats(): GatewayStats;
  /** Closes every connection, and stops listening. Closes nothing that was passed in. */
  close(): Promise<void>;
}

const SHUTDOWN_TIMEOUT_MS = 5_000;
const CLOSE_IDLE_INTERVAL_MS = 50;
const REQUEST_TIMEOUT_MS = 300_000;

/** When all clients reconnect at once, those beyond it are cut off or wait a second; the system may allow less. */
const BACKLOG = 4_096;

export function createServer(options: ServerOptions): Server {
  const gateway = createGateway(options);
  const app = createApp(options);
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
      // Requests that are being handled may finish, unless they take too long.
      const timer = setTimeout(() => app.server.closeAllConnections(), SHUTDOWN_TIMEOUT_MS);
      // The connection of an event stream becomes idle only after its last bytes are sent. Without this, it would stay
      // open until the timeout above.
      const closeIdle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_INTERVAL_MS);
      await app.close();
      clearTimeout(timer);
      clearInterval(closeIdle);
    },
  };
}

function createApp({ logger, onError = () => undefined }: ServerOptions): FastifyInstance {
  const notFound = errorResponse(
    { onError },
    new RequestError("NOT_FOUND", "There is nothing at this address."),
  );
  const badUrl = errorResponse(
    { onError },
    new RequestError("BAD_REQUEST", "The address is not well-formed."),
  );
  const app = fastify({
    // Its own lines have whole addresses.
    logController: new LogController({ disableRequestLogging: true }),
    ...(logger === undefined ? {} : { loggerInstance: logger }),
    forceCloseConnections: "idle",
    // Of what is sent to us; answers may take as long as they take.
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Java and curl offer HTTP/2 with their requests: what isn't taken up is answered as if it hadn't been offered.
    http: { shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket" },
    clientErrorHandler: (error, socket) => {
      if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
      else writeRawResponse(socket, malformedRequestResponse(error.code));
    },
    frameworkErrors: (_error, _request, reply) => void sendResponse(reply, badUrl),
  });
  app.setNotFoundHandler((_request, reply) => sendResponse(reply, notFound));
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

function getUrl(app: FastifyInstance): string {
  const address = app.server.address() as AddressInfo | null;
  if (address === null) throw new TypeError("The server has no address before listen() is done.");
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

const TOKEN = /\/(blobs|shares)\/[^/?#]+/g;

/** An address as it may be logged: without query, and without the tokens in it. Pure. */
export function redactPath(url: string): string {
  return url.replace(/[?#].*$/s, "").replaceAll(TOKEN, "/$1/*");
}

/** The error response to what Node could not parse as a request. Pure. @param code of Node's error */
function malformedRequestResponse(code: string | undefined): HttpResponse {
  if (code === "HPE_HEADER_OVERFLOW")
    return {
      ...toResponse(new RequestError("TOO_LARGE", "The headers or the address are too long.")),
      status: 431,
    };
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return {
      ...toResponse(new RequestError("BAD_REQUEST", "The request took too long to come.")),
      status: 408,
    };
  return toResponse(new RequestError("BAD_REQUEST", "This is not a well-formed request of HTTP/1.1."));
}

function toResponse(error: RequestError): HttpResponse {
  return errorResponse({ onError: () => undefined }, error);
}
