/**
 * `handleRequest` serves the gateway's HTTP routes as a function from Request to Response, for Next.js, Hono, Bun and
 * others. Sockets need a Node server: see `Gateway.upgrade`.
 * Invariant: it only converts between the platform's messages and `handleHttp`, so that both adapters behave alike.
 * The path must start with `/api/v1`. The client's address is known only if the host passes it.
 */
import { API_PREFIX, type HttpResponse, type HttpRequest } from "./http-messages.ts";
import { RequestError } from "../errors.ts";
import { EVENT_STREAM_HEADERS } from "../sse/event-stream.ts";
import { toWebStream } from "../sse/transports.ts";
import { type HttpContext, errorResponse, handleHttp, eventStreamOptions } from "./handle-request.ts";

export interface HandleContext {
  /** The client's network address, for the audit log. */
  readonly clientAddress?: string;
}

export async function handleRequest(
  http: HttpContext,
  request: Request,
  { clientAddress = "" }: HandleContext = {},
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  if (!pathname.startsWith(`${API_PREFIX}/`))
    return respond(
      http,
      request.signal,
      errorResponse(
        http.context,
        new RequestError("NOT_FOUND", `No route matches this path: all routes are under ${API_PREFIX}.`),
      ),
    );
  const httpRequest: HttpRequest = {
    method: request.method.toUpperCase(),
    url: `${pathname.slice(API_PREFIX.length)}${search}`,
    headers: new Map(request.headers),
    body: request.body ?? EMPTY_BODY,
    signal: request.signal,
    from: clientAddress,
  };
  return respond(http, request.signal, await handleHttp(http, httpRequest));
}

const EMPTY_BODY: AsyncIterable<Uint8Array> = {
  async *[Symbol.asyncIterator]() {},
};

function respond(http: HttpContext, signal: AbortSignal, { status, headers, body }: HttpResponse): Response {
  const init = { status, headers };
  if (body === null) return new Response(null, init);
  if ("whole" in body) return new Response(body.whole as string | Uint8Array<ArrayBuffer>, init);
  if ("chunks" in body) return new Response(ReadableStream.from(body.chunks), init);
  return new Response(toWebStream(eventStreamOptions(http, body), signal), {
    status,
    headers: { ...headers, ...EVENT_STREAM_HEADERS },
  });
}
