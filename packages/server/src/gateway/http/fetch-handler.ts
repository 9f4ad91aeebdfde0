/**
 * `handleRequest` serves the gateway's HTTP routes as a function from Request to Response, for Next.js, Hono, Bun,
 * Cloudflare and others. Sockets need a Node server: see `Gateway.attach`.
 * Invariant: it only converts between the platform's messages and `handleHttp`, so that both adapters behave alike, and
 * it never throws. The path must start with `/api/v1`. The client's address is known only if the host passes it.
 */
import { API_PREFIX, type HttpResponse, type HttpRequest } from "./http-messages.ts";
import { RequestError } from "../errors.ts";
import { EVENT_STREAM_HEADERS, toWebStream } from "../sse/event-stream.ts";
import { type HttpContext, errorResponse, handleHttp, eventStreamOptions } from "./handle-request.ts";

export interface HandleContext {
  /** The client's network address, for limits and security events. Default: unknown. */
  readonly clientAddress?: string;
  /** False if the host accepts no WebSockets. Clients then use event streams at once. @default true */
  readonly hasSockets?: boolean;
}

/** Some hosts pass only the path as `request.url`. */
const ANY_ORIGIN = "http://localhost";

export async function handleRequest(
  http: HttpContext,
  request: Request,
  { clientAddress = "", hasSockets = true }: HandleContext = {},
): Promise<Response> {
  // Some hosts pass no signal. They cancel the body of the response when the client disconnects.
  const signal = (request.signal as AbortSignal | undefined) ?? new AbortController().signal;
  const fail = (error: Error) => respond(http, signal, errorResponse(http.context, error));
  const url = URL.parse(request.url, ANY_ORIGIN);
  if (url === null) return fail(new RequestError("BAD_REQUEST", "The URL of the request is malformed."));
  const { pathname, search } = url;
  if (!pathname.startsWith(`${API_PREFIX}/`))
    return fail(
      new RequestError("NOT_FOUND", `No route matches this path: all routes are under ${API_PREFIX}.`),
    );
  if (request.bodyUsed || request.body?.locked === true)
    return fail(
      new TypeError(
        "The body of the request was read before gateway.handle(request). Pass the request unread, or read a clone of it: request.clone().",
      ),
    );
  const httpRequest: HttpRequest = {
    method: request.method.toUpperCase(),
    url: `${pathname.slice(API_PREFIX.length)}${search}`,
    headers: new Map(request.headers),
    body: request.body ?? EMPTY_BODY,
    signal,
    from: clientAddress,
    hasSockets,
  };
  return respond(http, signal, await handleHttp(http, httpRequest));
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
