/**
 * The gateway's HTTP part as a plain function from Request to Response, for Next.js, Hono, Bun and the like. Sockets need a
 * server of Node: see `upgrade`. Decides nothing.
 */
import { BASE, type HttpAnswer, type HttpRequest } from "./messages.ts";
import { Refused } from "../errors.ts";
import { EVENT_STREAM_HEADERS } from "../sse/event-stream.ts";
import { webStream } from "../sse/transports.ts";
import { type Door, refusal, serve, streamOptions } from "./handle-request.ts";

export interface HandleContext {
  /** The address of the client, for the audit. */
  readonly from?: string;
}

export async function handleRequest(
  door: Door,
  request: Request,
  { from = "" }: HandleContext = {},
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  if (!pathname.startsWith(`${BASE}/`))
    return respond(
      door,
      request.signal,
      refusal(door.parts, new Refused("NOT_FOUND", `Everything here is under ${BASE}.`)),
    );
  const asked: HttpRequest = {
    method: request.method.toUpperCase(),
    url: `${pathname.slice(BASE.length)}${search}`,
    headers: new Map(request.headers),
    body: request.body ?? NOTHING,
    signal: request.signal,
    from,
  };
  return respond(door, request.signal, await serve(door, asked));
}

const NOTHING: AsyncIterable<Uint8Array> = {
  async *[Symbol.asyncIterator]() {},
};

function respond(door: Door, left: AbortSignal, { status, headers, body }: HttpAnswer): Response {
  const init = { status, headers };
  if (body === null) return new Response(null, init);
  if ("whole" in body) return new Response(body.whole as string | Uint8Array<ArrayBuffer>, init);
  if ("chunks" in body) return new Response(ReadableStream.from(body.chunks), init);
  return new Response(webStream(streamOptions(door, body), left), {
    status,
    headers: { ...headers, ...EVENT_STREAM_HEADERS },
  });
}
