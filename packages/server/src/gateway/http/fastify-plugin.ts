/**
 * `gatewayPlugin` is the gateway as a Fastify plugin for all paths under `/api/v1`. It only converts: `handleHttp`
 * handles the requests.
 * Invariant: it uses its own Fastify context, so that the host's other routes are not affected. Fastify does not parse
 * or validate bodies here. Only the plain spelling of the prefix is served. It rejects an upgrade for another path only if the server has no other listener for
 * upgrades.
 */
import fp from "fastify-plugin";
import type { IncomingMessage } from "node:http";
import { type Duplex, Readable } from "node:stream";
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../errors.ts";
import { startEventStream } from "../sse/transports.ts";
import { type HttpContext, errorResponse, handleHttp, eventStreamOptions } from "./handle-request.ts";
import { API_PREFIX, type HttpResponse } from "./http-messages.ts";
import { fromNodeRequest } from "./node-request.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Handles socket upgrades. Passed in, because ws/ imports this module. */
export interface UpgradeHandler {
  /** @returns false if the URL does not belong to the gateway; the socket is then left untouched */
  readonly upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer, prefix: string) => boolean;
  /** Answers with an HTTP error and closes the connection. */
  readonly rejectUpgrade: (socket: Duplex, error: unknown) => void;
}

export function gatewayPlugin(
  http: HttpContext,
  { upgrade, rejectUpgrade }: UpgradeHandler,
): FastifyPluginAsync {
  const plugin: FastifyPluginAsync = async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, _payload, done) => done(null));
    app.setErrorHandler((error, _request, reply) =>
      sendResponse(reply, errorResponse(http.context, fromFastifyError(error))),
    );
    const handler = (request: FastifyRequest, reply: FastifyReply) => handle(http, app, request, reply);
    app.route({ method: METHODS, url: `${API_PREFIX}/*`, exposeHeadRoute: false, handler });
    app.server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (upgrade(incoming, socket, head, app.prefix) || app.server.listenerCount("upgrade") > 1) return;
      // No other listener handles this upgrade.
      rejectUpgrade(socket, new RequestError("NOT_FOUND", "This path does not accept sockets."));
    });
  };
  return fp(plugin, { name: "@turnstream/server", fastify: "5.x", encapsulate: true });
}

async function handle(
  http: HttpContext,
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const base = `${app.prefix}${API_PREFIX}`;
  // Fastify also routes other spellings, such as /%61pi, which the rules of a proxy may not recognize.
  if (!request.url.startsWith(`${base}/`))
    return sendResponse(
      reply,
      errorResponse(http.context, new RequestError("NOT_FOUND", "No route matches this path.")),
    );
  const url = request.url.slice(base.length);
  const response = await handleHttp(
    http,
    fromNodeRequest(request.raw, reply.raw, { url, from: http.resolveClientAddress(request.raw) }),
  );
  const { status, headers, body } = response;
  if (body === null || !("stream" in body)) return sendResponse(reply, response);
  startEventStream(reply.hijack().raw, { status, headers }, eventStreamOptions(http, body));
  return reply;
}

/** Sends a whole or chunked body. Event streams need `startEventStream`. */
export function sendResponse(reply: FastifyReply, { status, headers, body }: HttpResponse): FastifyReply {
  void reply.code(status).headers(headers);
  if (body === null) return reply.send();
  if ("whole" in body) return reply.send(body.whole);
  if ("chunks" in body) return reply.send(Readable.from(body.chunks));
  throw new TypeError("sendResponse can't send an event stream, use startEventStream");
}

/** Converts errors of Fastify itself to a RequestError and returns other errors unchanged. Pure. */
export function fromFastifyError(error: unknown): unknown {
  if (!(error instanceof Error) || !("statusCode" in error) || !("code" in error)) return error;
  const { statusCode: status, code } = error;
  const isClientError = typeof status === "number" && status >= 400 && status < 500;
  return isClientError && String(code).startsWith("FST_")
    ? new RequestError("BAD_REQUEST", "The request is malformed. Check its headers, especially content-type.")
    : error;
}
