/**
 * The gateway as a Fastify plugin: every path under `/api/v1`, in a context of its own, so that nothing of the host's own
 * routes changes. Fastify neither parses nor checks bodies here: `serve` does, for all doors alike.
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
  /** @returns whether the address is ours; anything else is left alone */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer, prefix: string): boolean;
  /** Answers by HTTP, and closes the connection. */
  rejectUpgrade(socket: Duplex, error: unknown): void;
}

export function gatewayPlugin(
  door: HttpContext,
  { upgrade, rejectUpgrade }: UpgradeHandler,
): FastifyPluginAsync {
  const plugin: FastifyPluginAsync = async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, _payload, done) => done(null));
    app.setErrorHandler((error, _request, reply) =>
      sendResponse(reply, errorResponse(door.parts, fromFastifyError(error))),
    );
    const handler = (request: FastifyRequest, reply: FastifyReply) => handle(door, app, request, reply);
    app.route({ method: METHODS, url: `${API_PREFIX}/*`, exposeHeadRoute: false, handler });
    app.server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (upgrade(incoming, socket, head, app.prefix) || app.server.listenerCount("upgrade") > 1) return;
      // Nobody else is there to take it.
      rejectUpgrade(socket, new RequestError("NOT_FOUND", "There is no socket at this address."));
    });
  };
  return fp(plugin, { name: "@turnstream/server", fastify: "5.x", encapsulate: true });
}

async function handle(
  door: HttpContext,
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const url = request.url.slice(app.prefix.length + API_PREFIX.length);
  const answer = await handleHttp(
    door,
    fromNodeRequest(request.raw, reply.raw, { url, from: door.addressOf(request.raw) }),
  );
  const { status, headers, body } = answer;
  if (body === null || !("stream" in body)) return sendResponse(reply, answer);
  startEventStream(reply.hijack().raw, { status, headers }, eventStreamOptions(door, body));
  return reply;
}

/** Whatever comes whole or in chunks; event streams need their door. */
export function sendResponse(reply: FastifyReply, { status, headers, body }: HttpResponse): FastifyReply {
  void reply.code(status).headers(headers);
  if (body === null) return reply.send();
  if ("whole" in body) return reply.send(body.whole);
  if ("chunks" in body) return reply.send(Readable.from(body.chunks));
  throw new TypeError("an event stream is not sent by this");
}

/** What Fastify itself refuses before a request reaches us, as a refusal of ours. Pure. Anything else stays what it is. */
export function fromFastifyError(error: unknown): unknown {
  if (!(error instanceof Error) || !("statusCode" in error) || !("code" in error)) return error;
  const { statusCode: status, code } = error;
  const isTheirs = typeof status === "number" && status >= 400 && status < 500;
  return isTheirs && String(code).startsWith("FST_")
    ? new RequestError(
        "BAD_REQUEST",
        "The request is not well-formed. Look at its headers, content-type above all.",
      )
    : error;
}
