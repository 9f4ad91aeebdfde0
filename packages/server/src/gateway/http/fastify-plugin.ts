/**
 * The gateway as a Fastify plugin: every path under `/api/v1`, in a context of its own, so that nothing of the host's own
 * routes changes. Fastify neither parses nor checks bodies here: `serve` does, for all doors alike.
 */
import fp from "fastify-plugin";
import type { IncomingMessage } from "node:http";
import { type Duplex, Readable } from "node:stream";
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { Refused } from "../errors.ts";
import { answerWithStream } from "../sse/transports.ts";
import { refuse } from "../ws/upgrade.ts";
import { type Door, refusal, serve, streamOptions } from "./handle-request.ts";
import { BASE, type HttpAnswer } from "./messages.ts";
import { nodeRequest } from "./node-request.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** @param upgrade takes sockets; it says whether the address was its own */
export function gatewayPlugin(
  door: Door,
  upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer, prefix: string) => boolean,
): FastifyPluginAsync {
  const plugin: FastifyPluginAsync = async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, _payload, done) => done(null));
    app.setErrorHandler((error, _request, reply) =>
      sendAnswer(reply, refusal(door.parts, fastifyError(error))),
    );
    const handler = (request: FastifyRequest, reply: FastifyReply) => handle(door, app, request, reply);
    app.route({ method: METHODS, url: `${BASE}/*`, exposeHeadRoute: false, handler });
    app.server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (upgrade(incoming, socket, head, app.prefix) || app.server.listenerCount("upgrade") > 1) return;
      // Nobody else is there to take it.
      refuse(door, socket, new Refused("NOT_FOUND", "There is no socket at this address."));
    });
  };
  return fp(plugin, { name: "@turnstream/server", fastify: "5.x", encapsulate: true });
}

async function handle(
  door: Door,
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const url = request.url.slice(app.prefix.length + BASE.length);
  const answer = await serve(
    door,
    nodeRequest(request.raw, reply.raw, { url, from: door.addressOf(request.raw) }),
  );
  const { status, headers, body } = answer;
  if (body === null || !("stream" in body)) return sendAnswer(reply, answer);
  answerWithStream(reply.hijack().raw, { status, headers }, streamOptions(door, body));
  return reply;
}

/** Whatever comes whole or in chunks; event streams need their door. */
export function sendAnswer(reply: FastifyReply, { status, headers, body }: HttpAnswer): FastifyReply {
  void reply.code(status).headers(headers);
  if (body === null) return reply.send();
  if ("whole" in body) return reply.send(body.whole);
  if ("chunks" in body) return reply.send(Readable.from(body.chunks));
  throw new TypeError("an event stream is not sent by this");
}

/** What Fastify itself refuses before a request reaches us, as a refusal of ours. Pure. Anything else stays what it is. */
export function fastifyError(error: unknown): unknown {
  if (!(error instanceof Error) || !("statusCode" in error) || !("code" in error)) return error;
  const { statusCode: status, code } = error;
  const isTheirs = typeof status === "number" && status >= 400 && status < 500;
  return isTheirs && String(code).startsWith("FST_")
    ? new Refused(
        "BAD_REQUEST",
        "The request is not well-formed. Look at its headers, content-type above all.",
      )
    : error;
}
