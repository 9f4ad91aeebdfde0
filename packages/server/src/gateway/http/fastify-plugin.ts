/**
 * The gateway as a Fastify plugin: every path under `/api/v1`, in a context of its own, so that nothing of the host's own
 * routes changes. Fastify neither parses nor checks bodies here: `handleHttp` does, for both entries.
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

/** What takes sockets: handed in, because ws/ imports from here. */
export interface UpgradeHandler {
  /** @returns whether the address is the gateway's; others are left alone */
  readonly upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer, prefix: string) => boolean;
  /** Answers by HTTP, and closes the connection. */
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
      // No other listener takes it.
      rejectUpgrade(socket, new RequestError("NOT_FOUND", "There is no socket at this address."));
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
  const url = request.url.slice(app.prefix.length + API_PREFIX.length);
  const response = await handleHttp(
    http,
    fromNodeRequest(request.raw, reply.raw, { url, from: http.resolveClientAddress(request.raw) }),
  );
  const { status, headers, body } = response;
  if (body === null || !("stream" in body)) return sendResponse(reply, response);
  startEventStream(reply.hijack().raw, { status, headers }, eventStreamOptions(http, body));
  return reply;
}

/** Sends a whole or chunked body; event streams need `startEventStream`. */
export function sendResponse(reply: FastifyReply, { status, headers, body }: HttpResponse): FastifyReply {
  void reply.code(status).headers(headers);
  if (body === null) return reply.send();
  if ("whole" in body) return reply.send(body.whole);
  if ("chunks" in body) return reply.send(Readable.from(body.chunks));
  throw new TypeError("an event stream is not sent by this");
}

/** Converts what Fastify itself rejects into a RequestError. Pure. Any other error stays what it is. */
export function fromFastifyError(error: unknown): unknown {
  if (!(error instanceof Error) || !("statusCode" in error) || !("code" in error)) return error;
  const { statusCode: status, code } = error;
  const isClientError = typeof status === "number" && status >= 400 && status < 500;
  return isClientError && String(code).startsWith("FST_")
    ? new RequestError(
        "BAD_REQUEST",
        "The request is not well-formed. Look at its headers, content-type above all.",
      )
    : error;
}
